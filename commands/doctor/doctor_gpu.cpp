// SPDX-License-Identifier: Apache-2.0
// The checks of `warpsmith doctor` on the driver, each GPU, and the needs of contract `device`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "commands/doctor/doctor.hpp"
#include "runtime/cuda/canary.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvml.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/nvrtc_pool.hpp"
#include "sandbox/device/gpu_access.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

const char* const gpu_area = "gpu";
const char* const device_area = "device";
constexpr std::chrono::seconds device_patience{60};  // NVRTC's first start on a loaded machine
const char* const environment_advice = "./warpsmith build makes the environment that contains it";

std::string proc_driver_version() {
  constexpr size_t most = 1U << 16U;
  return cuda::module_version(read_text_file("/proc/driver/nvidia/version", most).value_or(""));
}

void add_gpu(Findings& findings, const cuda::Gpu& gpu) {
  const std::string prefix = fmt::format("gpu{}_", gpu.index);
  findings.push_back({gpu_area, prefix + "name", gpu.name});
  findings.push_back({gpu_area, prefix + "capability",
                      fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor)});
  findings.push_back({gpu_area, prefix + "memory_bytes", gpu.memory_bytes});
  findings.push_back({gpu_area, prefix + "multiprocessors", int64_t{gpu.multiprocessors}});
  findings.push_back({gpu_area, prefix + "l2_bytes", gpu.l2_bytes});
}

void check_canary(Findings& findings) {
  const auto canary = cuda::run_canary(0);
  if (!canary) {
    findings.push_back(
        {gpu_area, "canary", canary.error().message, FindingState::absent,
         "kernels cannot be profiled; build on a machine with nvcc, and allow CUPTI"});
    return;
  }
  const bool right = canary->result_correct && canary->free_after >= canary->free_before;
  findings.push_back(
      {gpu_area, "canary",
       std::string{right ? "correct result, memory returned" : "WRONG result or lost memory"},
       right ? FindingState::good : FindingState::missing,
       right ? "" : "do not trust results from this GPU"});
  findings.push_back({gpu_area, "canary_kernel", canary->kernel_name});
  findings.push_back({gpu_area, "canary_us", canary->kernel_us});
  findings.push_back({gpu_area, "canary_registers", int64_t{canary->registers}});
}

void add_absent(Findings& findings, const std::string& name, const std::string& what,
                const std::string& advice) {
  findings.push_back({device_area, name, what, FindingState::absent, advice});
}

/// Starts the compiler in its jail, as the first submission would.
void check_nvrtc(Findings& findings, const sandbox::CudaToolchain& toolchain) {
  const auto pool = sandbox::NvrtcPool::open({.program = sandbox_program().string(),
                                              .library_folder = toolchain.library_folder,
                                              .includes = toolchain.includes},
                                             Deadline::after(device_patience));
  if (!pool) {
    return add_absent(findings, "nvrtc", pool.error().message,
                      "contract device cannot compile kernels here");
  }
  findings.push_back({device_area, "nvrtc", pool->version() + " in " + toolchain.library_folder});
}

void check_toolchain(Findings& findings) {
  const auto toolchain =
      sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(), python_interpreter().string());
  if (!toolchain) {
    return add_absent(findings, "nvrtc", toolchain.error().message, environment_advice);
  }
  check_nvrtc(findings, *toolchain);
  findings.push_back({device_area, "headers", toolchain->includes.front()});
  if (!toolchain->root.empty()) {
    findings.push_back({device_area, "toolkit", toolchain->root});
    return;
  }
  add_absent(
      findings, "toolkit", "none at build time",
      "install the CUDA toolkit 13 and build again; without it kernels compile, but slots on "
      "GPUs and sources that include the host's C++ headers do not work");
}

bool holds(const fs::path& folder, const std::string& library) {
  std::error_code error;
  const fs::directory_iterator files(folder, error);
  return !error && std::ranges::any_of(files, [&](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with(library + ".so.");
  });
}

template <class T>
std::string figure(const char* name, const std::optional<T>& value, const char* unit) {
  return std::string(name) + (value ? std::to_string(static_cast<int>(*value)) + unit : "unknown");
}

std::string reading_text(const cuda::ClockSample& sample) {
  return figure("SM ", sample.sm_mhz, " MHz") + figure(", memory ", sample.memory_mhz, " MHz") +
         figure(", ", sample.power_w, " W") + figure(", ", sample.celsius, " C");
}

void check_clocks(Findings& findings, const cuda::Gpu& gpu) {
  const std::string name = fmt::format("clocks_{}", gpu.index);
  const auto clocks = cuda::open_clocks(gpu.bus_address);
  if (clocks) {
    findings.push_back({device_area, name, reading_text((*clocks)->read())});
  } else {
    add_absent(findings, name, clocks.error().message,
               "verdicts do not record this GPU's clocks and throttling");
  }
}

}  // namespace

void check_gpu(Findings& findings) {
  check_tool(findings, gpu_area, "nvcc", FindingState::absent,
             "install CUDA toolkit 13, for CUDA tasks only");
  if (const std::string version = proc_driver_version(); !version.empty()) {
    findings.push_back({gpu_area, "kernel_module", version});
  }
  const auto driver = cuda::Driver::load();
  if (!driver) {
    findings.push_back({gpu_area, "driver", driver.error().message, FindingState::absent,
                        "only contracts and tasks for GPUs need one"});
    return;
  }
  findings.push_back({gpu_area, "driver_cuda", cuda::version_text(driver->cuda_version())});
  const auto gpus = driver->gpus();
  if (!gpus || gpus->empty()) {
    findings.push_back({gpu_area, "gpus", gpus ? "none visible" : gpus.error().message,
                        FindingState::absent,
                        "check CUDA_VISIBLE_DEVICES and the container's devices"});
    return;
  }
  for (const cuda::Gpu& gpu : *gpus) add_gpu(findings, gpu);
  check_canary(findings);
}

void check_math_libraries(Findings& findings, const std::vector<std::string>& folders) {
  struct Library {
    const char* name;
    const char* file;
    const char* step;
  };
  constexpr std::array<Library, 2> libraries{
      {{"cublas", "libcublasLt", "gemm"}, {"cudnn", "libcudnn", "conv"}}};
  for (const Library& library : libraries) {
    const auto found =
        std::ranges::find_if(folders, [&](const auto& one) { return holds(one, library.file); });
    if (found != folders.end()) {
      findings.push_back({device_area, library.name, *found});
    } else {
      add_absent(findings, library.name, std::string(library.file) + " not found",
                 std::string(library.step) + " steps do not work; " + environment_advice);
    }
  }
}

void check_device_nodes(Findings& findings, const fs::path& dev) {
  const std::string lacking = cuda::missing_device_nodes(dev);
  if (lacking.empty()) {
    findings.push_back(
        {device_area, "device_nodes", std::string{"nvidiactl, nvidia-uvm, nvidia-uvm-tools"}});
    return;
  }
  add_absent(findings, "device_nodes", lacking,
             "no kernel can run on a GPU here; give the container these nodes and /dev/nvidiaN");
}

void check_host_memory(Findings& findings, const cuda::Gpu& gpu) {
  const std::string name = fmt::format("host_memory_{}", gpu.index);
  if (gpu.host_memory_isolated) {
    findings.push_back({device_area, name, std::string{cuda::host_memory_out_of_reach}});
    return;
  }
  add_absent(
      findings, name, cuda::host_memory_within_reach,
      "verdicts of contract device get a lowered trust class; put \"options nvidia_uvm "
      "uvm_disable_hmm=1\" into /etc/modprobe.d and reload the module (this does not help if "
      "the GPU shares the processor's page tables, as on Grace)");
}

void check_device_contract(Findings& findings) {
  check_toolchain(findings);
  check_math_libraries(findings, sandbox::find_math_folders(sandbox::built_with_toolkit(),
                                                            python_interpreter().string()));
  check_device_nodes(findings, "/dev");
  const auto driver = cuda::Driver::load();
  if (!driver) return;  // check_gpu reports it
  const auto gpus = driver->gpus();
  for (const cuda::Gpu& gpu : gpus ? *gpus : std::vector<cuda::Gpu>{}) {
    check_clocks(findings, gpu);
    check_host_memory(findings, gpu);
  }
}

}  // namespace warpsmith::commands

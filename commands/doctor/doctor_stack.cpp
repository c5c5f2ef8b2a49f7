// SPDX-License-Identifier: Apache-2.0
#include <spdlog/version.h>
#include <torch/headeronly/version.h>

#include <boost/version.hpp>
#include <caf/config.hpp>
#include <chrono>

#include "commands/doctor/doctor_checks.hpp"
#include "runtime/cuda/canary.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

const char* const build_area = "build";
const char* const gpu_area = "gpu";
constexpr std::chrono::seconds patience{20};

std::string first_line_in(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The version line of a program's --version output: nvcc's is not the first.
std::string version_line(const std::string& text) {
  const size_t release = text.find("release ");
  if (release == std::string::npos) return first_line_in(text);
  const size_t before = text.rfind('\n', release);
  return first_line_in(text.substr(before == std::string::npos ? 0 : before + 1));
}

void check_tool(Findings& findings, const std::string& program, FindingState if_absent,
                const std::string& advice) {
  const std::string path = find_program(program);
  if (path.empty()) {
    findings.push_back({build_area, program, std::string{"not found"}, if_absent, advice});
    return;
  }
  const auto run = run_child({.argv = {path, "--version"}}, Deadline::after(patience));
  findings.push_back({build_area, program, run ? version_line(run->out) : run.error().message});
}

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

void check_python(Findings& findings) {
  const std::string python = python_interpreter();
  const std::string advice = "./warpsmith build makes the pinned environment";
  if (python.empty()) {
    findings.push_back(
        {build_area, "python", std::string{"not set"}, FindingState::missing, advice});
    return;
  }
  const auto run = run_child({.argv = {python, "-c",
                                       "import sys, importlib.metadata as m\n"
                                       "print(sys.version.split()[0], 'torch', m.version('torch'), "
                                       "'transformers', m.version('transformers'))"}},
                             Deadline::after(patience));
  const bool works = run && run->exit_code == 0;
  findings.push_back({build_area, "python",
                      works ? first_line_in(run->out)
                            : python + ": " + (run ? first_line_in(run->err) : run.error().message),
                      works ? FindingState::good : FindingState::missing, works ? "" : advice});
}

std::string proc_driver_version() {
  constexpr size_t most = 1U << 16U;
  return cuda::module_version(read_text_file("/proc/driver/nvidia/version", most).value_or(""));
}

void add_gpu(Findings& findings, const cuda::Gpu& gpu) {
  const std::string prefix = "gpu" + std::to_string(gpu.index) + "_";
  findings.push_back({gpu_area, prefix + "name", gpu.name});
  findings.push_back(
      {gpu_area, prefix + "capability",
       std::to_string(gpu.capability_major) + "." + std::to_string(gpu.capability_minor)});
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

}  // namespace

void check_build(Findings& findings) {
  findings.push_back({build_area, "warpsmith", program_version()});
  check_tool(findings, "g++", FindingState::missing, "apt-get install g++");
  check_tool(findings, "cmake", FindingState::absent, "apt-get install cmake");
  check_tool(findings, "ninja", FindingState::absent, "apt-get install ninja-build");
  check_tool(findings, "ccache", FindingState::absent, "apt-get install ccache: faster rebuilds");
  check_tool(findings, "mold", FindingState::absent, "apt-get install mold: faster links");
  check_python(findings);
  findings.push_back(
      {build_area, "caf", dotted(CAF_VERSION / 10000, CAF_VERSION / 100 % 100, CAF_VERSION % 100)});
  findings.push_back({build_area, "libtorch", std::string{TORCH_VERSION}});
  findings.push_back(
      {build_area, "spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)});
  findings.push_back(
      {build_area, "boost",
       dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)});
  findings.push_back(
      {build_area, "cuda_parts", cuda::canary_is_built(),
       cuda::canary_is_built() ? FindingState::good : FindingState::absent,
       cuda::canary_is_built() ? "" : "install the CUDA toolkit (nvcc) and build again"});
}

void check_gpu(Findings& findings) {
  check_tool(findings, "nvcc", FindingState::absent,
             "install CUDA toolkit 13, for CUDA tasks only");
  findings.back().area = gpu_area;
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

}  // namespace warpsmith::commands

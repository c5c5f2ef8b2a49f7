// SPDX-License-Identifier: Apache-2.0
#include "sandbox/device/gpu_access.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/cuda/driver.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, const std::string& library) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(library + ".so.")) return true;
  }
  return false;
}

/// Library folders of NVIDIA's packages next to an interpreter, then of a toolkit.
std::vector<fs::path> library_folders(const std::string& root, const std::string& python) {
  std::vector<fs::path> folders;
  for (const fs::path& package : nvidia_packages(python)) folders.push_back(package / "lib");
  if (root.empty()) return folders;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) {
    folders.push_back(fs::path(root) / folder);
  }
  return folders;
}

void add_once(std::vector<std::string>& list, const fs::path& path) {
  std::error_code error;
  const std::string real = fs::canonical(path, error).string();
  if (!error && std::ranges::find(list, real) == list.end()) list.push_back(real);
}

/// The first folder of each library.
std::vector<std::string> folders_of(std::initializer_list<const char*> libraries,
                                    const std::string& root, const std::string& python) {
  std::vector<std::string> found;
  const std::vector<fs::path> folders = library_folders(root, python);
  for (const char* library : libraries) {
    const auto first =
        std::ranges::find_if(folders, [&](const fs::path& one) { return holds(one, library); });
    if (first != folders.end()) add_once(found, *first);
  }
  return found;
}

/// The folder where the loader finds the driver, and the folder of the file that its links lead to.
Result<std::vector<std::string>> driver_folders() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  link_map* found = nullptr;
  if (library == nullptr || ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&found)) != 0) {
    return fail(ErrorCode::unsupported, "no CUDA driver: libcuda.so.1 does not load");
  }
  const fs::path path = found->l_name;
  std::vector<std::string> folders{path.parent_path().string()};
  std::error_code error;
  const std::string real = fs::canonical(path, error).parent_path().string();
  if (!error && real != folders.front()) folders.push_back(real);
  return folders;
}

/// /dev/nvidiaN of a GPU. If the kernel module does not say, or a container renumbers its nodes,
/// the nodes that exist are taken in the driver's order.
std::string node_of(int index, const std::string& address) {
  std::ifstream file("/proc/driver/nvidia/gpus/" + address + "/information");
  std::stringstream text;
  text << file.rdbuf();
  const auto numbered = [](int number) { return fmt::format("/dev/nvidia{}", number); };
  const int minor = device_minor(text.str());
  if (minor >= 0 && fs::exists(numbered(minor))) return numbered(minor);
  int before = 0;
  for (int number = 0; number < 64; ++number) {
    if (fs::exists(numbered(number)) && before++ == index) return numbered(number);
  }
  return numbered(minor >= 0 ? minor : index);
}

}  // namespace

int device_minor(std::string_view information) {
  constexpr std::string_view key = "Device Minor:";
  const size_t at = information.find(key);
  if (at == std::string_view::npos) return -1;
  const size_t digits = information.find_first_not_of(" \t", at + key.size());
  int number = -1;
  if (digits == std::string_view::npos) return -1;
  (void)std::from_chars(information.data() + digits, information.data() + information.size(),
                        number);
  return number;
}

std::vector<std::string> find_math_folders(const std::string& root, const std::string& python) {
  return folders_of({"libcublasLt", "libcublas", "libcudnn"}, root, python);
}

std::vector<std::string> find_profiler_folders(const std::string& root, const std::string& python) {
  return folders_of({"libcupti"}, root, python);
}

Result<GpuAccess> find_gpu_access(int index, const std::string& root, const std::string& python) {
  TRY(const auto driver, cuda::Driver::load());
  TRY(const auto gpus, driver.gpus());
  if (index < 0 || static_cast<size_t>(index) >= gpus.size()) {
    return fail(ErrorCode::not_found, fmt::format("no GPU number {}", index));
  }
  TRY(auto folders, driver_folders());
  const cuda::Gpu& gpu = gpus[static_cast<size_t>(index)];
  GpuAccess access{.nodes = {"/dev/nvidiactl"},
                   .driver_folders = std::move(folders),
                   .host_memory_isolated = gpu.host_memory_isolated};
  access.nodes.push_back(node_of(index, gpu.bus_address));
  access.nodes.insert(access.nodes.end(), {"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"});
  for (const std::string& node : access.nodes) {
    if (!fs::exists(node)) return fail(ErrorCode::unsupported, "no device node " + node);
  }
  access.math_folders = find_math_folders(root, python);
  access.profiler_folders = find_profiler_folders(root, python);
  if (fs::exists(WARPSMITH_COUNTERS_LIBRARY)) access.counters_library = WARPSMITH_COUNTERS_LIBRARY;
  return access;
}

}  // namespace warpsmith::sandbox

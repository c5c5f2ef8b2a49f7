// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/python_jail.hpp"

#include <filesystem>

namespace warpsmith::sandbox {
namespace {

constexpr const char* counters_path = "/counters.so";  // kernel_counters.py loads it

}  // namespace

Result<JailSpec> python_jail(const std::string& python, const std::string& folder,
                             const std::string& script) {
  auto jail = worker_jail(python);
  if (!jail) return jail;
  JailSpec& spec = *jail;
  spec.argv.insert(spec.argv.end(), {"-P", "-s", "/worker/" + script});
  spec.read_only.push_back({std::filesystem::absolute(folder), "/worker"});
  spec.environment["PYTHONPATH"] = "/worker";
  spec.environment["PYTHONDONTWRITEBYTECODE"] = "1";
  spec.environment["MKL_NUM_THREADS"] = "1";
  spec.environment["MALLOC_MMAP_THRESHOLD_"] = "1073741824";
  spec.environment["MALLOC_TRIM_THRESHOLD_"] = "2147483647";
  spec.environment["MALLOC_TOP_PAD_"] = "67108864";
  return jail;
}

void add_gpu(JailSpec& spec, const GpuAccess& gpu) {
  spec.devices = gpu.nodes;
  std::string search;
  for (const std::string& folder : gpu.driver_folders) {
    spec.read_only.push_back({folder, folder});
    search += (search.empty() ? "" : ":") + folder;
  }
  spec.environment["LD_LIBRARY_PATH"] = search;
  if (!gpu.counters_library.empty()) {
    spec.read_only.push_back({gpu.counters_library, counters_path});
    spec.environment["WARPSMITH_COUNTERS"] = counters_path;
  }
  spec.limits.open_files = 4096;
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// What of this machine a jailed process must see to work on one GPU: device nodes, the driver's
// library, NVIDIA's libraries for `gemm` and `conv` steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct GpuAccess {
  std::vector<std::string> nodes;             // of /dev
  std::vector<std::string> driver_folders;    // that hold libcuda.so.1
  std::vector<std::string> math_folders;      // that hold cuBLAS and cuDNN; may be empty
  std::vector<std::string> profiler_folders;  // that hold CUPTI; may be empty
  std::string counters_library;               // of ours, for Python; empty: not built
  bool host_memory_apart = false;             // as the driver says of the GPU
};

/// Of GPU number `index` as the driver counts. Libraries for steps: those beside `python`, which
/// torch uses too, then the toolkit's at `root` (may be empty). `unsupported` without a driver or
/// a device node.
Result<GpuAccess> find_gpu_access(int index, const std::string& root, const std::string& python);

/// The minor number in the text of /proc/driver/nvidia/gpus/ADDRESS/information; −1: none. Pure.
int device_minor(std::string_view information);

/// The folder that holds libcupti, as above; empty where there is none.
std::vector<std::string> find_profiler_folders(const std::string& root, const std::string& python);

/// Folders that hold libcublasLt, libcublas or libcudnn, the first place of each only.
std::vector<std::string> find_math_folders(const std::string& root, const std::string& python);

}  // namespace warpsmith::sandbox

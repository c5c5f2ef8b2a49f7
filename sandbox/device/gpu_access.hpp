// SPDX-License-Identifier: Apache-2.0
// The files that a jail must show for work on one GPU: device nodes, the driver's library, NVIDIA's
// libraries for `gemm` and `conv` steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct GpuAccess {
  std::vector<std::string> nodes;             // in /dev
  std::vector<std::string> driver_folders;    // of libcuda.so.1
  std::vector<std::string> math_folders;      // of cuBLAS and cuDNN; may be empty
  std::vector<std::string> profiler_folders;  // of CUPTI; may be empty
  std::string counters_library;               // the sandbox's library for Python; empty: not built
  bool host_memory_isolated = false;          // by the driver: kernels cannot reach host memory
};

/// The access to GPU number `index` in the driver's order. Libraries are searched next to `python`,
/// where torch's are, then in the toolkit at `root`, if any. `unsupported` without a driver or a
/// device node.
Result<GpuAccess> find_gpu_access(int index, const std::string& root, const std::string& python);

/// The minor number in the text of /proc/driver/nvidia/gpus/ADDRESS/information; −1: none. Pure.
int device_minor(std::string_view information);

/// The folder of libcupti, searched likewise; empty if there is none.
std::vector<std::string> find_profiler_folders(const std::string& root, const std::string& python);

/// The folders of libcublasLt, libcublas and libcudnn, searched likewise: the first of each.
std::vector<std::string> find_math_folders(const std::string& root, const std::string& python);

}  // namespace warpsmith::sandbox

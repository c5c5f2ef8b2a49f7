// SPDX-License-Identifier: Apache-2.0
// Where CUDA's compilers and headers are on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct CudaToolchain {
  std::string library_folder;         // holds libnvrtc.so.*
  std::vector<std::string> includes;  // folders of headers, the first of all first
  std::string root;                   // holds bin/nvcc; empty: NVRTC alone
};

/// The toolkit at `root` (a folder that holds bin/nvcc), or, where there is none, NVRTC as the
/// environment of `python` brings it. `unsupported` names both places.
Result<CudaToolchain> find_cuda_toolchain(const std::string& root, const std::string& python);

/// A text that changes when a toolkit does: its places, and size and time of its compilers, of its
/// headers' folders and of a header that each version changes.
std::string identity_of(const CudaToolchain& toolchain);

/// Of the toolkit that this program was built with; empty: none.
std::string built_with_toolkit();

/// Where pip puts NVIDIA's packages in the environment of an interpreter.
std::vector<std::filesystem::path> nvidia_packages(const std::string& python);

}  // namespace warpsmith::sandbox

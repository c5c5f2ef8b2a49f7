// SPDX-License-Identifier: Apache-2.0
// Finds CUDA's compilers and headers on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct CudaToolchain {
  std::string library_folder;         // holds libnvrtc.so.*
  std::vector<std::string> includes;  // folders of headers, in search order
  std::string root;                   // holds bin/nvcc; empty: NVRTC alone
};

/// The toolkit at `root`, a folder that holds bin/nvcc, else NVRTC in the environment of `python`.
/// `unsupported` names both places.
Result<CudaToolchain> find_cuda_toolchain(const std::string& root, const std::string& python);

/// A text that changes with the toolkit: paths, sizes and times of its compilers, its header
/// folders and a header that each version changes.
std::string identity_of(const CudaToolchain& toolchain);

/// The root of the toolkit that this program was built with; empty: none.
std::string built_with_toolkit();

/// The folders of NVIDIA's pip packages in the environment of an interpreter.
std::vector<std::filesystem::path> nvidia_packages(const std::string& python);

}  // namespace warpsmith::sandbox

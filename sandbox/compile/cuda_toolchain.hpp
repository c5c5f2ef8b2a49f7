// SPDX-License-Identifier: Apache-2.0
// Finds CUDA's compilers and headers on this machine, and names the architecture that device code
// is compiled for.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct CudaToolchain {
  std::string library_folder;         // contains libnvrtc.so.*
  std::vector<std::string> includes;  // folders of headers, in search order
  std::string root;                   // contains bin/nvcc; empty: only NVRTC
};

/// The toolkit at `root`, a folder that contains bin/nvcc, else NVRTC in the environment of
/// `python`. `unsupported` names both places.
Result<CudaToolchain> find_cuda_toolchain(const std::string& root, const std::string& python);

/// A text that changes with the toolkit: paths, sizes and times of its compilers, its header
/// folders and a header that each version changes.
std::string identity_of(const CudaToolchain& toolchain);

/// The root of the toolkit that this program was built with; empty: none.
std::string built_with_toolkit();

/// The folders of NVIDIA's pip packages in the environment of an interpreter.
std::vector<std::filesystem::path> nvidia_packages(const std::string& python);

/// Used without a GPU: sm_90a, the H100 and the H200.
inline constexpr const char* default_architecture = "90a";

/// The architecture of a compute capability: "80", "90a". From 9.0 on it includes the instructions
/// of only that capability (wgmma, setmaxnreg).
inline std::string architecture_of(int major, int minor) {
  return std::to_string(major) + std::to_string(minor) + (major >= 9 ? "a" : "");
}

/// A line that changes with the file: path, time and size. For a folder: path and time. Only the
/// path if it does not exist.
inline std::string file_stamp(const std::filesystem::path& path) {
  std::error_code none;
  const auto time = std::filesystem::last_write_time(path, none).time_since_epoch().count();
  if (none) return path.string() + '\n';
  const bool file = std::filesystem::is_regular_file(path, none);
  const uintmax_t bytes = file ? std::filesystem::file_size(path, none) : 0;
  return fmt::format("{} {} {}\n", path.string(), time, bytes);
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/cuda_toolchain.hpp"

#include <filesystem>
#include <initializer_list>

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

bool holds_nvrtc(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("libnvrtc.so")) return true;
  }
  return false;
}

/// The folders of NVRTC and headers below `root`; an empty one was not found.
CudaToolchain toolchain_in(const fs::path& root) {
  CudaToolchain found;
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
    if (!found.library_folder.empty() || !holds_nvrtc(root / folder)) continue;
    found.library_folder = fs::canonical(root / folder).string();
  }
  std::error_code error;
  for (const char* folder : {"include", "targets/x86_64-linux/include"}) {
    if (!found.includes.empty() || !fs::exists(root / folder / "cuda_fp16.h", error)) continue;
    found.includes.push_back(fs::canonical(root / folder).string());
    if (fs::exists(root / folder / "cccl", error)) {
      found.includes.push_back(fs::canonical(root / folder / "cccl").string());
    }
  }
  return found;
}

bool is_whole(const CudaToolchain& found) {
  return !found.library_folder.empty() && !found.includes.empty();
}

}  // namespace

std::vector<fs::path> nvidia_packages(const std::string& python) {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path lib = fs::path(python).parent_path().parent_path() / "lib";
  for (const auto& version : fs::directory_iterator(lib, error)) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::error_code ignored;
      const fs::path nvidia = version.path() / packages / "nvidia";
      for (const auto& one : fs::directory_iterator(nvidia, ignored)) folders.push_back(one.path());
    }
  }
  return folders;
}

Result<CudaToolchain> find_cuda_toolchain(const std::string& root, const std::string& python) {
  if (!root.empty()) {
    CudaToolchain found = toolchain_in(root);
    found.root = root;
    if (is_whole(found)) return found;
  }
  for (const fs::path& folder : nvidia_packages(python)) {
    CudaToolchain found = toolchain_in(folder);
    if (is_whole(found)) return found;
  }
  return fail(ErrorCode::unsupported,
              "no NVRTC with headers: neither in the toolkit (" +
                  (root.empty() ? std::string("none when this was built") : root) +
                  ") nor beside " + python);
}

std::string identity_of(const CudaToolchain& toolchain) {
  std::string text = file_stamp(toolchain.library_folder);
  for (const std::string& folder : toolchain.includes) {
    text += file_stamp(folder) + file_stamp(fs::path(folder) / "cuda.h");
  }
  return toolchain.root.empty() ? text : text + file_stamp(fs::path(toolchain.root) / "bin/nvcc");
}

std::string built_with_toolkit() {
  return WARPSMITH_CUDA_ROOT;
}

}  // namespace warpsmith::sandbox

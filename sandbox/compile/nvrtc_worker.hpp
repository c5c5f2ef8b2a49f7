// SPDX-License-Identifier: Apache-2.0
// The jailed process that compiles CUDA: it loads NVRTC and warms it up, compiles one source and
// ends. A source that takes over its compiler cannot reach the next one.
#pragma once

#include <string>

#include "sandbox/compile/nvrtc_library.hpp"

namespace warpsmith::sandbox {

inline constexpr int nvrtc_socket_fd = 3;
inline constexpr const char* nvrtc_folder = "/nvrtc";  // the library's folder in the jail

/// A worker's first answer, after it compiled a small source of ours.
struct NvrtcReady {
  std::string version;
  std::string failure;  // empty if it could

  template <class Archive>
  void serialize(Archive& archive) {
    archive(version, failure);
  }
};

/// Answers a warming source with NvrtcReady, then one source with its CudaObject, in frames on
/// `nvrtc_socket_fd`. Returns the exit code.
int run_nvrtc_worker();

}  // namespace warpsmith::sandbox

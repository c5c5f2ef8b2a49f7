// SPDX-License-Identifier: Apache-2.0
// The jailed side of the compile service for CUDA: a process that has NVRTC loaded and warm,
// compiles one submission and ends. It is used once, so that nothing a source does to its compiler
// reaches the next one.
#pragma once

#include <string>

#include "sandbox/compile/nvrtc_library.hpp"

namespace warpsmith::sandbox {

inline constexpr int nvrtc_socket_fd = 3;
inline constexpr const char* nvrtc_folder = "/nvrtc";  // of the library, in the jail

/// First answer of a worker: it has compiled something small of ours, or why it could not.
struct NvrtcReady {
  std::string version;
  std::string failure;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(version, failure);
  }
};

/// Answers a warming source with NvrtcReady, then one source with its CudaObject, in frames on
/// `nvrtc_socket_fd`. Returns the exit code.
int run_nvrtc_worker();

}  // namespace warpsmith::sandbox

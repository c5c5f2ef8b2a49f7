// SPDX-License-Identifier: Apache-2.0
// What builds an extension for an interpreter's torch: torch's headers and libraries, Python's
// headers, and the CUDA toolkit where there is one.
#pragma once

#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Folders of the host.
struct HostToolchain {
  std::string python;          // the interpreter
  std::string python_headers;  // hold Python.h
  std::string torch;           // the package, with include/ and lib/
  std::string torch_version;   // the text of its version file
  std::string cuda;            // toolkit with nvcc; empty: none
  bool torch_has_cuda = false;
};

/// Runs the interpreter, without importing torch. `unsupported` where it lacks torch or headers.
/// `cuda_root` is a toolkit or empty; where it holds no nvcc, the nvcc in PATH is used.
Result<HostToolchain> find_host_toolchain(const std::string& python, const std::string& cuda_root);

}  // namespace warpsmith::sandbox

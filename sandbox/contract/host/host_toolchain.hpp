// SPDX-License-Identifier: Apache-2.0
// What it takes to build an extension for the torch of an interpreter: its headers and libraries,
// Python's headers, and the CUDA toolkit where there is one.
#pragma once

#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Folders of the host.
struct HostToolchain {
  std::string python;          // the interpreter
  std::string python_headers;  // that hold Python.h
  std::string torch;           // the package: include/ and lib/ are in it
  std::string torch_version;   // the text of its version file
  std::string cuda;            // toolkit with nvcc; empty: none
  bool torch_has_cuda = false;
};

/// Asks the interpreter, without importing torch. `unsupported` where it has no torch or no
/// headers. `cuda_root`: a toolkit, may be empty; where nvcc is not in it, the one in PATH counts.
Result<HostToolchain> find_host_toolchain(const std::string& python, const std::string& cuda_root);

}  // namespace warpsmith::sandbox

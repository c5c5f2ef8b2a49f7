// SPDX-License-Identifier: Apache-2.0
// A failed driver call. The error persists in the context, so the process must be replaced.
#pragma once

#include <stdexcept>
#include <string>

namespace warpsmith::cuda {

class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, int code) : std::runtime_error(what), code_(code) {}
  /// The driver's error number (CUresult).
  int code() const { return code_; }
  /// True for CUDA_ERROR_OUT_OF_MEMORY: another process may have taken the memory.
  bool no_memory() const { return code_ == 2; }

 private:
  int code_;
};

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
// A failed call of the driver. The error sticks to the context: the process that saw it must be
// replaced, not repaired.
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

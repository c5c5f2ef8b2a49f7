// SPDX-License-Identifier: Apache-2.0
// A call of the driver failed. The error sticks to the context: the process that saw it is to be
// replaced, not repaired.
#pragma once

#include <stdexcept>
#include <string>

namespace warpsmith::cuda {

class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, int code) : std::runtime_error(what), code_(code) {}
  /// The driver's number (CUresult).
  int code() const { return code_; }
  /// CUDA_ERROR_OUT_OF_MEMORY: the device has no more, which need not be this process's doing.
  bool no_memory() const { return code_ == 2; }

 private:
  int code_;
};

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
// What prepared steps have in common, and how NVIDIA's libraries are loaded: at run time, by the
// few functions used here, so that the build needs none of their headers. Only for sources built
// with the toolkit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "runtime/cuda/device_error.hpp"
#include "runtime/cuda/dynamic_library.hpp"
#include "sandbox/launch/kernel_launch.hpp"

namespace warpsmith::sandbox {

/// Enqueues a step over one set's buffers on a stream. Throws DeviceError.
using Enqueue = std::function<void(CUstream, const DeviceBases&)>;

/// Looks up the function `name` in `library`. Throws DeviceError if it is missing.
template <class Function>
void take(const cuda::DynamicLibrary& library, const char* name, Function*& into) {
  into = library.function<Function>(name);
  if (into == nullptr) throw cuda::DeviceError(std::string("no function ") + name, 0);
}

/// Throws DeviceError unless a library's status is 0 (success in all of them).
inline void succeed(int status, const char* call) {
  if (status == 0) return;
  throw cuda::DeviceError(std::string(call) + " answered status " + std::to_string(status), status);
}

/// An opaque object of a library with its destroy function.
using LibraryObject = std::unique_ptr<void, int (*)(void*)>;

}  // namespace warpsmith::sandbox

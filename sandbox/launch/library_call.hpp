// SPDX-License-Identifier: Apache-2.0
// What the steps of a plan have in common once they are ready for a GPU, and how NVIDIA's libraries
// are taken: at run time, by the few functions used here, so that no header of theirs is needed to
// build. Sources built with the toolkit only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "runtime/cuda/device_error.hpp"
#include "runtime/cuda/dynamic_library.hpp"
#include "sandbox/launch/kernel_launch.hpp"

namespace warpsmith::sandbox {

/// Puts a step over one set's buffers into a stream. Throws DeviceError.
using Enqueue = std::function<void(CUstream, const DeviceBases&)>;

/// Takes `Function*` called `name` out of `library`; throws DeviceError if it is not there.
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

/// An opaque object of a library, destroyed by the function that goes with it.
using LibraryObject = std::unique_ptr<void, int (*)(void*)>;

}  // namespace warpsmith::sandbox

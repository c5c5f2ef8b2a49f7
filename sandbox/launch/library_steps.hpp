// SPDX-License-Identifier: Apache-2.0
// Steps that NVIDIA's libraries execute, prepared for one plan. The libraries are loaded at run
// time, by the few functions used here, so that the build needs none of their headers. Only for
// sources built with the toolkit.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

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
  throw cuda::DeviceError(fmt::format("{} answered status {}", call, status), status);
}

/// An opaque object of a library with its destroy function.
using LibraryObject = std::unique_ptr<void, int (*)(void*)>;

/// `gemm` steps: cuBLAS for plain products, as in torch's eager mode; cuBLASLt for those with an
/// epilogue.
class GemmLibrary {
 public:
  /// `unsupported` if the libraries cannot be loaded. Throws DeviceError. `context` outlives it.
  static Result<std::unique_ptr<GemmLibrary>> open(const cuda::Context& context);
  virtual ~GemmLibrary() = default;
  GemmLibrary(const GemmLibrary&) = delete;
  GemmLibrary& operator=(const GemmLibrary&) = delete;

  /// `gemm` and `buffers` outlive the result, which must not outlive this object. Throws
  /// DeviceError if the library has no kernel for the product.
  virtual Enqueue prepare(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers) = 0;

 protected:
  GemmLibrary() = default;
};

/// The most workspace memory of the convolutions of a plan; its steps share it.
inline constexpr uint64_t conv_workspace_bytes = 1ULL << 30U;

/// `conv` steps, by cuDNN.
class ConvLibrary {
 public:
  /// `unsupported` if the library cannot be loaded. Throws DeviceError. `context` outlives it.
  static Result<std::unique_ptr<ConvLibrary>> open(const cuda::Context& context);
  virtual ~ConvLibrary() = default;
  ConvLibrary(const ConvLibrary&) = delete;
  ConvLibrary& operator=(const ConvLibrary&) = delete;

  /// The result must not outlive this object. Call it only after every step of the plan is
  /// prepared, and run all results of one library on one stream. Throws DeviceError if cuDNN has
  /// no algorithm.
  virtual Enqueue prepare(const BoundConv& conv, const std::vector<BoundBuffer>& buffers) = 0;

 protected:
  ConvLibrary() = default;
};

}  // namespace warpsmith::sandbox

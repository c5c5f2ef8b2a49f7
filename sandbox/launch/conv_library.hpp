// SPDX-License-Identifier: Apache-2.0
// `conv` steps on a GPU, by cuDNN. Sources built with the toolkit only.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/launch/library_call.hpp"

namespace warpsmith::sandbox {

/// The most memory that convolutions' algorithms may take besides their tensors: all steps of a
/// plan share it.
inline constexpr uint64_t conv_workspace_bytes = 1ULL << 30U;

class ConvLibrary {
 public:
  /// `unsupported` where the library cannot be loaded. Throws DeviceError. `context` outlives it.
  static Result<std::unique_ptr<ConvLibrary>> open(const cuda::Context& context);
  virtual ~ConvLibrary() = default;
  ConvLibrary(const ConvLibrary&) = delete;
  ConvLibrary& operator=(const ConvLibrary&) = delete;

  /// Throws DeviceError where the library has no algorithm for it. The result must not outlive
  /// this; it is called once all steps of the plan are prepared, and results of one library run on
  /// one stream.
  virtual Enqueue prepare(const BoundConv& conv, const std::vector<BoundBuffer>& buffers) = 0;

 protected:
  ConvLibrary() = default;
};

}  // namespace warpsmith::sandbox

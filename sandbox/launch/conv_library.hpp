// SPDX-License-Identifier: Apache-2.0
// `conv` steps on a GPU, by cuDNN. Only for sources built with the toolkit.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/launch/library_call.hpp"

namespace warpsmith::sandbox {

/// The most workspace memory of the convolutions of a plan; its steps share it.
inline constexpr uint64_t conv_workspace_bytes = 1ULL << 30U;

class ConvLibrary {
 public:
  /// `unsupported` where the library cannot be loaded. Throws DeviceError. `context` outlives it.
  static Result<std::unique_ptr<ConvLibrary>> open(const cuda::Context& context);
  virtual ~ConvLibrary() = default;
  ConvLibrary(const ConvLibrary&) = delete;
  ConvLibrary& operator=(const ConvLibrary&) = delete;

  /// The result must not outlive this object. Call it only after every step of the plan is
  /// prepared, and run all results of one library on one stream. Throws DeviceError where cuDNN has
  /// no algorithm.
  virtual Enqueue prepare(const BoundConv& conv, const std::vector<BoundBuffer>& buffers) = 0;

 protected:
  ConvLibrary() = default;
};

}  // namespace warpsmith::sandbox

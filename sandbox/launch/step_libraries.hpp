// SPDX-License-Identifier: Apache-2.0
// The libraries that steps of plans call. Only for sources built with the toolkit.
#pragma once

#include <memory>

#include "sandbox/launch/conv_library.hpp"
#include "sandbox/launch/gemm_library.hpp"

namespace warpsmith::sandbox {

/// Each library opens once per process, for the first plan that needs it.
struct StepLibraries {
  std::unique_ptr<GemmLibrary> gemm;
  std::unique_ptr<ConvLibrary> conv;

  /// Opens the libraries that the plan's steps call. `unsupported` where the machine lacks one,
  /// which is not the plan's fault. Throws DeviceError. `context` outlives this.
  Result<void> open_for(const BoundPlan& plan, const cuda::Context& context);
};

}  // namespace warpsmith::sandbox

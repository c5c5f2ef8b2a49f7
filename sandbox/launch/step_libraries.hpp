// SPDX-License-Identifier: Apache-2.0
// The libraries that steps of plans call. Sources built with the toolkit only.
#pragma once

#include <memory>

#include "sandbox/launch/conv_library.hpp"
#include "sandbox/launch/gemm_library.hpp"

namespace warpsmith::sandbox {

/// Each is opened once in a process's life, for the first plan that calls it.
struct StepLibraries {
  std::unique_ptr<GemmLibrary> gemm;
  std::unique_ptr<ConvLibrary> conv;

  /// Those that steps of the plan call. `unsupported` where the machine lacks one: no fault of the
  /// plan. Throws DeviceError. `context` outlives this.
  Result<void> open_for(const BoundPlan& plan, const cuda::Context& context);
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Stands in for cuda_device.cpp in builds without a CUDA toolkit.
#include "sandbox/launch/launcher.hpp"

namespace warpsmith::sandbox {

Result<std::unique_ptr<PlanDevice>> open_cuda_device(Recording) {
  return fail(ErrorCode::unsupported, "launcher: built without a CUDA toolkit");
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Replaces the canary and the toolkit's version if no CUDA toolkit was found at build time.
#include "runtime/cuda/canary.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::cuda {

bool canary_is_built() {
  return false;
}

int built_cuda_version() {
  return 0;
}

Result<CanaryReport> run_canary(int) {
  return fail(ErrorCode::unsupported,
              "built without a CUDA toolkit: install nvcc and build again to run the canary");
}

}  // namespace warpsmith::cuda

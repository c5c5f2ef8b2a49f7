// SPDX-License-Identifier: Apache-2.0
// The speed of a GPU's memory.
#pragma once

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Bytes per second, read plus written, of a large copy within a GPU's memory: the median of
/// several. The errors of `make_cuda_engine`.
Result<double> copy_bandwidth(int gpu);

}  // namespace warpsmith::policy

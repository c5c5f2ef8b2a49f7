// SPDX-License-Identifier: Apache-2.0
// CUPTI as this machine has it. Needs no toolkit to be called.
#pragma once

#include "runtime/cuda/dynamic_library.hpp"

namespace warpsmith::cuda {

/// libcupti by the loader's path, then beside the toolkit and the wheel known at build time.
Result<DynamicLibrary> load_cupti();

}  // namespace warpsmith::cuda

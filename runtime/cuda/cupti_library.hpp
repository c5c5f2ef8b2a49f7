// SPDX-License-Identifier: Apache-2.0
// Loads this machine's CUPTI. Needs no toolkit to be called.
#pragma once

#include "runtime/cuda/dynamic_library.hpp"

namespace warpsmith::cuda {

/// libcupti from the loader's path, or beside the toolkit or the wheel known at build time.
Result<DynamicLibrary> load_cupti();

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
// Property tests draw the same cases in every run; RC_PARAMS overrides the seed to explore others.
#pragma once

#include <stdlib.h>

namespace warpsmith::test_support {

/// RapidCheck reads its configuration at the first property, after globals are initialised.
inline const int rapidcheck_seed = ::setenv("RC_PARAMS", "seed=20260131", 0);

}  // namespace warpsmith::test_support

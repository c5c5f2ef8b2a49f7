// SPDX-License-Identifier: Apache-2.0
// Exports another function.
#include "warpsmith.h"
extern "C" void resolve_it(const void* const*, void* const*, const int64_t*) {}

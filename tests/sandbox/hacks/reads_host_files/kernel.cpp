// SPDX-License-Identifier: Apache-2.0
// Includes a file of the host (D9).
#include "/etc/shadow"
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {}

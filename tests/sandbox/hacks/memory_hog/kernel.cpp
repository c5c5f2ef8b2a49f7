// SPDX-License-Identifier: Apache-2.0
// Takes 10 GB (D14).
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  for (int i = 0; i < 10240; ++i) memset(new char[1 << 20], i | 1, 1 << 20);
}

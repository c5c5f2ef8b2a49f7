// SPDX-License-Identifier: Apache-2.0
// Forks for ever (D14).
#include <unistd.h>
#include "warpsmith.h"
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  while (true) fork();
}

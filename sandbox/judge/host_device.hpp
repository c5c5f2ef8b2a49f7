// SPDX-License-Identifier: Apache-2.0
// Macros and functions that let the judge's rules compile for a CPU and for kernels.
#pragma once

#ifdef __CUDACC__
#define WARPSMITH_HOST_DEVICE __host__ __device__
#else
#define WARPSMITH_HOST_DEVICE
#endif

namespace warpsmith::sandbox {

/// std::bit_cast, which device code may not call.
template <class To, class From>
WARPSMITH_HOST_DEVICE To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

/// std::max, which device code may not call either; returns `a` if one of them is NaN.
template <class T>
WARPSMITH_HOST_DEVICE T larger(T a, T b) {
  return a < b ? b : a;
}

}  // namespace warpsmith::sandbox

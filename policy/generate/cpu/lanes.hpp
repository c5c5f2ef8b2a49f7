// SPDX-License-Identifier: Apache-2.0
// Vectors of float32 for the loops of decoding, and helpers that are inlined into them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

// One clone per instruction set, chosen at start. Helpers are inlined, so that they are compiled
// for each set too.
#define WARPSMITH_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#define WARPSMITH_INLINE [[gnu::always_inline]] inline

namespace warpsmith::policy::kernels {

// A register of AVX2. GCC keeps wider vectors in memory there, which takes 3 to 28 times as long.
// With wider registers, `multiply` uses them; other loops would gain too little.
using Lanes [[gnu::vector_size(32)]] = float;
using WideLanes [[gnu::vector_size(64)]] = float;

template <class Vector>
inline constexpr int64_t width_of = sizeof(Vector) / sizeof(float);

/// Positions of a block of the cache, and dimensions that are summed together: two vectors.
inline constexpr int64_t group = 16;
inline constexpr int64_t lanes = width_of<Lanes>;
inline constexpr int64_t parts = group / lanes;

template <class Vector>
WARPSMITH_INLINE void load(const float* from, Vector& into) {
  std::memcpy(&into, from, sizeof into);
}
template <class Vector>
WARPSMITH_INLINE void store(const Vector& from, float* into) {
  std::memcpy(into, &from, sizeof from);
}

/// exp(x) for x <= 88, within 2 units in the last place; 0 below -87.
WARPSMITH_INLINE void exp_lanes(Lanes& x) {
  using Integers [[gnu::vector_size(32)]] = int32_t;
  const Lanes zero{};
  const Integers tiny = x < zero - 87.0F;
  x = tiny ? zero - 87.0F : x;
  constexpr float magic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Lanes shifted = x * 1.44269504F + magic;
  const Lanes n = shifted - magic;
  const Lanes r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Integers exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
  const Lanes result = p * std::bit_cast<Lanes>(exponent);
  x = tiny ? zero : result;
}

/// In place: exp(x - maximum) of the first `count`, a multiple of a vector's lanes.
WARPSMITH_INLINE void exp_below(float* x, int64_t count, float maximum) {
  for (int64_t i = 0; i < count; i += lanes) {
    Lanes v;
    load(x + i, v);
    v = v - maximum;
    exp_lanes(v);
    store(v, x + i);
  }
}

}  // namespace warpsmith::policy::kernels

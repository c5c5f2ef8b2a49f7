// SPDX-License-Identifier: Apache-2.0
// The verifier's self test of a GPU: the contents of an all-zero key must have a sum that was
// computed without any device, so that a faulty device cannot pass against itself.
#pragma once

#include <cstdint>
#include <span>

namespace warpsmith::sandbox {

/// Float32 of distribution `normal`: exercises integer and float arithmetic on every
/// multiprocessor.
inline constexpr uint64_t self_test_elements = 1ULL << 20U;
/// Computed on a CPU by the same rules (self_test_test.cpp).
inline constexpr uint64_t self_test_sum = 0xCA771888EF3C03A0;

/// The sum over the elements, two to a word, dependent on their order.
inline uint64_t sum_of(std::span<const uint64_t> words) {
  uint64_t sum = 0;
  for (const uint64_t word : words) sum = sum * 0x9E3779B97F4A7C15ULL + word;
  return sum;
}

}  // namespace warpsmith::sandbox

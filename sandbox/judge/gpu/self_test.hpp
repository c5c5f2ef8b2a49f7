// SPDX-License-Identifier: Apache-2.0
// The verifier's self test of a GPU: contents of a key of zeros, and what their sum must be. Known
// without any device, so that one that computes wrongly is never its own standard.
#pragma once

#include <cstdint>
#include <span>

namespace warpsmith::sandbox {

/// Float32, of distribution `normal`: integer and floating arithmetic of every multiprocessor.
inline constexpr uint64_t self_test_elements = 1ULL << 20U;
/// As a CPU computes it by the same rules (self_test_test.cpp).
inline constexpr uint64_t self_test_sum = 0xCA771888EF3C03A0;

/// Of the elements, two to a word, in their order.
inline uint64_t sum_of(std::span<const uint64_t> words) {
  uint64_t sum = 0;
  for (const uint64_t word : words) sum = sum * 0x9E3779B97F4A7C15ULL + word;
  return sum;
}

}  // namespace warpsmith::sandbox

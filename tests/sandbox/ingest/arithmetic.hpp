// SPDX-License-Identifier: Apache-2.0
// Honest and dishonest ways to compute in float32, for calibrating the bound.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warpsmith::sandbox::test {

enum class Order : uint8_t { sequential, pairwise, blocked, fused };

/// A variant: the order of sums, and the precision of every value that is read or written.
struct Arithmetic {
  std::string name;
  Order order = Order::sequential;
  int kept_bits = 23;  // of the mantissa: 23 for float32, 10 for TF32 and float16, 7 for bfloat16
  bool honest() const { return kept_bits == 23; }

  float round(float value) const {
    if (honest()) return value;
    const auto drop = static_cast<uint32_t>(23 - kept_bits);
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<float>((bits + (1U << (drop - 1))) & ~((1U << drop) - 1));
  }

  /// Σ a(i) · b(i) over [first, last); a plain sum has b = 1.
  template <class A, class B>
  float dot(size_t first, size_t last, A a, B b) const {
    if (order == Order::pairwise && last - first > 8) {
      const size_t middle = first + (last - first) / 2;
      return dot(first, middle, a, b) + dot(middle, last, a, b);
    }
    if (order == Order::blocked) return blocked(first, last, a, b);
    float sum = 0;
    for (size_t i = first; i < last; ++i) {
      const float x = round(a(i)), y = round(b(i));
      sum = order == Order::fused ? std::fma(x, y, sum) : sum + x * y;
    }
    return sum;
  }

 private:
  template <class A, class B>
  float blocked(size_t first, size_t last, A a, B b) const {
    float lanes[8] = {};
    for (size_t i = first; i < last; ++i) lanes[i % 8] += round(a(i)) * round(b(i));
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    return sum;
  }
};

inline std::vector<Arithmetic> all_arithmetics() {
  return {{"sequential", Order::sequential}, {"pairwise", Order::pairwise},
          {"blocked", Order::blocked},       {"fused", Order::fused},
          {"tf32/fp16", Order::blocked, 10}, {"bf16", Order::blocked, 7}};
}

}  // namespace warpsmith::sandbox::test

// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers. Named streams: (run seed, owner, index) always produces the same draws,
// regardless of other streams. Counter-based (Philox 4x32-10; Salmon et al., SC 2011), so a
// position is a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace warpsmith {

/// Not for secrets: the sandbox draws those from a cryptographic generator.
class RandomStream {
 public:
  using result_type = uint32_t;  // a UniformRandomBitGenerator, for <random> and std::shuffle

  RandomStream(uint64_t seed, std::string_view owner, uint64_t index = 0);

  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return UINT32_MAX; }
  uint32_t operator()();

  uint64_t next_u64();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [0, bound), without modulo bias. Requires bound > 0.
  uint64_t below(uint64_t bound);

  /// Continues as if `position` blocks of four 32-bit words had been drawn.
  void seek(uint64_t position);
  /// The next whole block, for `seek`.
  uint64_t position() const { return counter_; }

 private:
  void refill();

  std::array<uint32_t, 2> key_{};
  uint64_t lane_ = 0;     // upper half of the 128-bit counter: the index
  uint64_t counter_ = 0;  // lower half
  std::array<uint32_t, 4> block_{};
  unsigned used_ = 4;
};

/// One block of Philox 4x32-10.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Fisher-Yates. Unlike std::shuffle, the result is the same on every machine.
template <class T>
void shuffle(std::vector<T>& order, RandomStream& random) {
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(i))]);
  }
}

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// Generates the input sets: independent full-entropy draws from a keyed cryptographic stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/describe.hpp"
#include "sandbox/judge/element_values.hpp"

namespace warpsmith::sandbox {

using StreamKey = std::array<uint8_t, 32>;

/// The stream of (key, set, tensor), AES-256 in counter mode: 2^32 blocks each. Streams of
/// different pairs never overlap. Without the key, inputs of different calls cannot be told apart.
class Keystream {
 public:
  Keystream(const StreamKey& key, uint64_t set, uint32_t tensor);
  ~Keystream();
  Keystream(const Keystream&) = delete;
  Keystream& operator=(const Keystream&) = delete;

  void fill(std::span<std::byte> out);

 private:
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

/// The verified distributions besides `dense`.
inline constexpr std::array verified_distributions{Distribution::normal, Distribution::shifted,
                                                   Distribution::wide, Distribution::huge,
                                                   Distribution::sparse};
constexpr auto names_of(Distribution) {
  return std::to_array<std::string_view>({"normal", "shifted", "wide", "huge", "sparse", "dense"});
}

constexpr auto names_of(Domain) {
  return std::to_array<std::string_view>({"free", "non_negative", "unit"});
}

struct FillRule {
  Distribution distribution = Distribution::normal;
  Domain domain = Domain::free;
  int64_t row = 1;  // elements of the last axis, for `huge`
};

/// Writes `out`, with non-temporal stores where its alignment allows. 2^20 dense values take < 2
/// ms.
void fill_floats(std::span<float> out, const FillRule& rule, Keystream& stream);

void fill_parameter(std::span<float> out, const ParameterRule& rule, Keystream& stream);

}  // namespace warpsmith::sandbox

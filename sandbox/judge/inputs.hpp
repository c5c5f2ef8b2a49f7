// SPDX-License-Identifier: Apache-2.0
// Contents of the input sets: independent full-entropy draws of a keyed generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sandbox/judge/keystream.hpp"

namespace warpsmith::sandbox {

/// What the floating inputs of a set look like. Values are rounded to float32.
enum class Distribution : uint8_t {
  normal,   // mean 0, deviation 1 (sum of four uniforms)
  shifted,  // mean 2.5, deviation 1: a mean of zero is no answer
  wide,     // magnitudes over 2^-8 … 2^8
  huge,     // normal, and one element of each row of magnitude 2^10 … 2^11
  sparse,   // zero but for one element in sixteen, of magnitude 2^-1 … 2^7
  dense,    // uniform in [-1, 1): for timing, and for one verified set
};
inline constexpr size_t distribution_count = 6;
/// The verified ones besides `dense`.
inline constexpr std::array verified_distributions{Distribution::normal, Distribution::shifted,
                                                   Distribution::wide, Distribution::huge,
                                                   Distribution::sparse};
std::string_view to_string(Distribution distribution) noexcept;

/// Which values a tensor may take, learnt at ingest from what `get_inputs` gives.
enum class Domain : uint8_t {
  free,
  non_negative,  // absolute values
  unit,          // in (0, 1): the fractional part of the absolute value, away from the ends
};
std::string_view to_string(Domain domain) noexcept;

struct FillRule {
  Distribution distribution = Distribution::normal;
  Domain domain = Domain::free;
  int64_t row = 1;  // elements of the last axis, for `huge`
};

/// Writes `out` with non-temporal stores where its alignment allows. 2^20 dense values take < 2 ms.
void fill_floats(std::span<float> out, const FillRule& rule, Keystream& stream);

/// How a parameter varies between calls: as its initial values do, or around a constant.
struct ParameterRule {
  double mean = 0;
  double deviation = 0;  // 0: a constant; then values within ±0.5 of it
  bool non_negative = false;
};
void fill_parameter(std::span<float> out, const ParameterRule& rule, Keystream& stream);

}  // namespace warpsmith::sandbox

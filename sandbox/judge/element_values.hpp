// SPDX-License-Identifier: Apache-2.0
// The value of one element as a function of random words, bit for bit the same on a CPU and in a
// kernel (kernels are compiled without contraction of products and sums).
#pragma once

#include <cmath>
#include <cstdint>

#include "sandbox/judge/element_types.hpp"

namespace warpsmith::sandbox {

/// The distribution of a set's floating inputs. Values are rounded to float32.
enum class Distribution : uint8_t {
  normal,   // mean 0, deviation 1 (sum of four uniforms)
  shifted,  // mean 2.5, deviation 1: guessing a mean of zero fails
  wide,     // magnitudes over 2^-8 … 2^8
  huge,     // normal, with one element of magnitude 2^10 … 2^11 in each row
  sparse,   // zero except for one element in sixteen, of magnitude 2^-1 … 2^7
  dense,    // uniform in [-1, 1): for timing, and for one verified set
};

/// The values that a tensor may take, learnt at ingest from `get_inputs`.
enum class Domain : uint8_t {
  free,
  non_negative,  // absolute values
  unit,          // in (0, 1): the fractional part of the absolute value, kept away from the ends
};

/// How a parameter varies between calls: like its initial values, or around a constant.
struct ParameterRule {
  double mean = 0;
  double deviation = 0;  // 0: a constant, and values lie within ±0.5 of it
  bool non_negative = false;
};

WARPSMITH_HOST_DEVICE inline float dense_value(uint32_t word) {
  return 2.0F * (static_cast<float>(word >> 8U) * 0x1.0p-24F) - 1.0F;
}

/// Irwin–Hall: the sum of four 16-bit uniforms has mean 131,070 and deviation 37,837; the fifth
/// fills the mantissa.
WARPSMITH_HOST_DEVICE inline float normal_value(int sum_of_four, uint16_t fifth) {
  const float fine = static_cast<float>(int{fifth}) * 0x1.0p-16F - 0.5F;
  return (static_cast<float>(sum_of_four - 131070) + fine) * (1.0F / 37837.0F);
}

/// The offset of `shifted` from a normal value.
inline constexpr float shift = 2.5F;

/// ±2^(low + [0, span)): uniform in the exponent's integer part and in the mantissa.
WARPSMITH_HOST_DEVICE inline float magnitude(uint32_t word, int low, uint32_t span) {
  const auto exponent = static_cast<uint32_t>(127 + low) + ((word >> 24U) & 0x7FU) % span;
  return bits_as<float>((word & 0x80000000U) | (exponent << 23U) | (word & 0x7FFFFFU));
}

WARPSMITH_HOST_DEVICE inline float wide_value(uint32_t word) {
  return magnitude(word, -8, 16);
}

WARPSMITH_HOST_DEVICE inline float sparse_value(uint32_t word, uint16_t half) {
  return half % 16 == 0 ? magnitude(word, -1, 8) : 0.0F;
}

WARPSMITH_HOST_DEVICE inline float restricted(Domain domain, float value) {
  if (domain == Domain::free) return value;
  const float absolute = std::fabs(value);
  if (domain == Domain::non_negative) return absolute;
  return 0.001F + 0.998F * (absolute - std::floor(absolute));
}

/// The place of the huge element in a row of `length`. A quarter of the rows has it at each end,
/// where kernels with an off-by-one error skip an element; the others have it anywhere.
WARPSMITH_HOST_DEVICE inline uint64_t place_of_huge(uint32_t draw, uint32_t where,
                                                    uint64_t length) {
  constexpr uint32_t quarter = 1U << 30U;
  if (where < quarter) return 0;
  if (where < 2 * quarter) return length - 1;
  return static_cast<uint64_t>(draw) * length >> 32U;
}

WARPSMITH_HOST_DEVICE inline float huge_value(Domain domain, uint32_t word) {
  const float value = magnitude(word, 10, 1);
  return domain == Domain::free ? value : std::fabs(value);
}

/// Whether rows of `row` elements have a huge one.
WARPSMITH_HOST_DEVICE inline bool has_huge(Domain domain, int64_t row) {
  return row >= 2 && domain != Domain::unit;
}

/// The distribution that a parameter's values derive from.
WARPSMITH_HOST_DEVICE inline Distribution distribution_of(const ParameterRule& rule) {
  return rule.deviation == 0 ? Distribution::dense : Distribution::normal;
}

WARPSMITH_HOST_DEVICE inline float parameter_value(const ParameterRule& rule, float drawn) {
  const double scale = rule.deviation == 0 ? 0.5 : rule.deviation;
  const auto value = static_cast<float>(rule.mean + scale * static_cast<double>(drawn));
  return rule.non_negative ? std::fabs(value) : value;
}

}  // namespace warpsmith::sandbox

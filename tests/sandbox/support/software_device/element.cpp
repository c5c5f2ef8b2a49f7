// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/software_device/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace warpsmith::sandbox::testing {
namespace {

double half_value(uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = std::ldexp(mantissa + (exponent != 0 ? 1024 : 0), std::max(exponent, 1) - 25);
  if (exponent == 0x1F) value = mantissa != 0 ? std::nan("") : HUGE_VAL;
  return (bits & 0x8000U) != 0 ? -value : value;
}

}  // namespace

uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  // Half a step beyond the largest finite value rounds to infinity.
  if (size >= 65520) return sign | 0x7C00;
  const int exponent = size < 0x1.0p-14 ? -14 : std::ilogb(size);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // The leading bit of a normal number adds one to the exponent's field, and so does a carry.
  return static_cast<uint16_t>(sign + (static_cast<uint32_t>(exponent + 14) << 10U) + steps);
}

uint16_t bfloat_bits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

double load_element(Dtype dtype, const std::byte* base, int64_t index) {
  if (dtype == Dtype::f32) {
    float value = 0;
    std::memcpy(&value, base + index * 4, sizeof value);
    return static_cast<double>(value);
  }
  uint16_t bits = 0;
  std::memcpy(&bits, base + index * 2, sizeof bits);
  if (dtype == Dtype::f16) return half_value(bits);
  return static_cast<double>(std::bit_cast<float>(uint32_t{bits} << 16U));
}

void store_element(Dtype dtype, std::byte* base, int64_t index, double value) {
  if (dtype == Dtype::f32) {
    const auto rounded = static_cast<float>(value);
    std::memcpy(base + index * 4, &rounded, sizeof rounded);
    return;
  }
  const uint16_t bits = dtype == Dtype::f16 ? half_bits(value) : bfloat_bits(value);
  std::memcpy(base + index * 2, &bits, sizeof bits);
}

}  // namespace warpsmith::sandbox::testing

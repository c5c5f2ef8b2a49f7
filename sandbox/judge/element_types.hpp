// SPDX-License-Identifier: Apache-2.0
// Reading and writing elements of every type, with the same code on a CPU and in a kernel. Defines
// WARPSMITH_HOST_DEVICE, which marks such code.
#pragma once

#include <cstdint>

#include "runtime/task.hpp"

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

struct HalfBits {
  uint16_t bits;
};
struct BfloatBits {
  uint16_t bits;
};

/// Exact; NaN stays NaN with another payload.
WARPSMITH_HOST_DEVICE inline float half_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16U;
  const uint32_t exponent = (bits >> 10U) & 0x1FU, mantissa = bits & 0x3FFU;
  if (exponent == 0x1FU) return bits_as<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent != 0) return bits_as<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  const float small = static_cast<float>(mantissa) * 0x1.0p-24F;
  return bits_as<float>(sign | bits_as<uint32_t>(small));
}

/// Drops the lowest `drop` of float32 bits: rounds to nearest, ties to even.
WARPSMITH_HOST_DEVICE inline uint32_t round_bits(uint32_t bits, uint32_t drop) {
  return (bits + (1U << (drop - 1U)) - 1U + ((bits >> drop) & 1U)) >> drop;
}

/// Rounds to nearest, ties to even; infinite from 65,520 on.
WARPSMITH_HOST_DEVICE inline uint16_t float_to_half(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t sign = (bits >> 16U) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  uint32_t half = 0x7E00U;                       // NaN
  if (magnitude <= 0x7F800000U) half = 0x7C00U;  // infinity
  if (magnitude < 0x477FF000U) half = round_bits(magnitude, 13) - (112U << 10U);
  if (magnitude < 0x38800000U) {  // subnormal: adding 2^-1 rounds at 2^-24, its last bit
    half = bits_as<uint32_t>(bits_as<float>(magnitude) + 0.5F) - 0x3F000000U;
  }
  return static_cast<uint16_t>(sign | half);
}

/// Rounds to nearest, ties to even.
WARPSMITH_HOST_DEVICE inline uint16_t float_to_bfloat(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<uint16_t>(is_nan ? 0x7FC0U : round_bits(bits, 16));
}

template <class T>
WARPSMITH_HOST_DEVICE double as_double(T value) {
  return static_cast<double>(value);
}
WARPSMITH_HOST_DEVICE inline double as_double(BfloatBits value) {
  return static_cast<double>(bits_as<float>(uint32_t{value.bits} << 16U));
}
WARPSMITH_HOST_DEVICE inline double as_double(HalfBits value) {
  return static_cast<double>(half_to_float(value.bits));
}

/// Rounds a float32 to an element of another width.
template <class T>
WARPSMITH_HOST_DEVICE T from_float(float value) {
  return static_cast<T>(value);
}
template <>
WARPSMITH_HOST_DEVICE inline HalfBits from_float<HalfBits>(float value) {
  return {float_to_half(value)};
}
template <>
WARPSMITH_HOST_DEVICE inline BfloatBits from_float<BfloatBits>(float value) {
  return {float_to_bfloat(value)};
}

/// Largest |rounding| / |value| of one store of this type; zero for exact types.
WARPSMITH_HOST_DEVICE inline double unit_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return 0x1.0p-53;
    case Dtype::f32:
      return 0x1.0p-24;
    case Dtype::f16:
      return 0x1.0p-11;
    case Dtype::bf16:
      return 0x1.0p-8;
    default:
      return 0;
  }
}

/// Calls `visit` with a zero of the C++ type of `dtype`.
template <class Visit>
WARPSMITH_HOST_DEVICE void with_type(Dtype dtype, const Visit& visit) {
  switch (dtype) {
    case Dtype::f32:
      return visit(float{});
    case Dtype::f64:
      return visit(double{});
    case Dtype::f16:
      return visit(HalfBits{});
    case Dtype::bf16:
      return visit(BfloatBits{});
    case Dtype::i64:
      return visit(int64_t{});
    case Dtype::i32:
      return visit(int32_t{});
    case Dtype::i16:
      return visit(int16_t{});
    case Dtype::i8:
      return visit(int8_t{});
    case Dtype::u8:
    case Dtype::boolean:
      break;
  }
  return visit(uint8_t{});
}

}  // namespace warpsmith::sandbox

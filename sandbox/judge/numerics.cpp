// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/numerics.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {
namespace {

// Below this an exponential in float32 may honestly have underflowed before it was scaled up.
constexpr double smallest = 0x1.0p-100;
constexpr size_t pool = 8;  // neighbours whose deviations are averaged

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = std::ldexp(mantissa + (exponent != 0 ? 1024 : 0), std::max(exponent, 1) - 25);
  if (exponent == 0x1F) value = mantissa != 0 ? std::nan("") : HUGE_VAL;
  return (bits & 0x8000U) != 0 ? -value : value;
}

struct BfloatBits {
  uint16_t bits;
};
struct HalfBits {
  uint16_t bits;
};

double as_double(auto value) {
  return static_cast<double>(value);
}
double as_double(BfloatBits value) {
  return static_cast<double>(std::bit_cast<float>(uint32_t{value.bits} << 16U));
}
double as_double(HalfBits value) {
  return half_to_double(value.bits);
}

template <class T>
T element(std::span<const std::byte> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Largest |rounding| / |value| of one store of this type; zero for exact types.
double unit_of(Dtype dtype) {
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
auto with_type(Dtype dtype, Visit visit) {
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

struct Scale {
  double c;
  double floor;      // × |ŷ|, inside c
  double floor_abs;  // inside c
  double store;      // × |ŷ|, outside c
};

Scale scale_of(Dtype dtype, const BoundRule& rule) {
  const double unit = unit_of(dtype);
  if (unit == 0) return {rule.c, 0, 0, 0};
  return {rule.c, 4 * rule.u, smallest, unit};
}

void judge_element(double y, double expected, double spread, const Scale& s, ErrorStats& stats) {
  if (!std::isfinite(expected) || !std::isfinite(y)) {
    stats.undefined += std::isfinite(expected) ? 0 : 1;
    const bool same = std::isnan(expected) ? std::isnan(y) : y == expected;
    if (!same) ++stats.nonfinite, ++stats.wrong;
    return;
  }
  const double magnitude = std::fabs(expected);
  const double error = std::fabs(y - expected);
  const double rounding = std::max(spread, s.floor * magnitude + s.floor_abs);
  const double bound = s.c * rounding + s.store * magnitude;
  if (!(error <= bound)) ++stats.wrong;
  if (error > stats.worst * bound) stats.worst = bound > 0 ? error / bound : HUGE_VAL;
}

/// S of up to `pool` neighbours: each its own, but at least half of their root mean square. A
/// deviation that is near zero by chance is lifted; an isolated large one stays local.
void pooled(std::span<const float> spread, std::array<double, pool>& out) {
  double sum = 0;
  for (const float s : spread) sum += static_cast<double>(s) * static_cast<double>(s);
  const double least = 0.5 * std::sqrt(sum / static_cast<double>(spread.size()));
  for (size_t i = 0; i < spread.size(); ++i) {
    const auto own = static_cast<double>(spread[i]);
    out[i] = std::isfinite(own) ? std::max(own, std::isfinite(least) ? least : own) : HUGE_VAL;
  }
}

}  // namespace

BoundRule bound_for(int evaluations) {
  if (evaluations >= 8) return {.c = 8};
  if (evaluations >= 6) return {.c = 10};
  if (evaluations >= 4) return {.c = 16};
  return {.c = 24};
}

void ErrorStats::add(const ErrorStats& other) {
  worst = std::max(worst, other.worst);
  wrong += other.wrong;
  nonfinite += other.nonfinite;
  undefined += other.undefined;
  elements += other.elements;
}

ErrorStats compare(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                   const BoundRule& rule) {
  const size_t count = reference.value.size();
  assert(output.size() == count * element_bytes(dtype) && "output and reference differ in size");
  assert(reference.spread.size() == count && "spread and reference differ in size");
  const Scale scale = scale_of(dtype, rule);
  ErrorStats stats{.elements = count};
  with_type(dtype, [&](auto zero) {
    std::array<double, pool> spread{};
    for (size_t first = 0; first < count; first += pool) {
      const size_t width = std::min(pool, count - first);
      pooled(reference.spread.subspan(first, width), spread);
      for (size_t i = 0; i < width; ++i) {
        const double y = as_double(element<decltype(zero)>(output, first + i));
        judge_element(y, reference.value[first + i], spread[i], scale, stats);
      }
    }
  });
  return stats;
}

ErrorStats compare_with_baseline(Dtype dtype, std::span<const std::byte> output,
                                 std::span<const std::byte> baseline,
                                 std::span<const float> profile, const BoundRule& rule) {
  const size_t count = output.size() / element_bytes(dtype);
  assert(output.size() == baseline.size() && "output and baseline differ in size");
  assert(profile.size() * profile_block >= count && "the profile is too short");
  const Scale scale = scale_of(dtype, rule);
  ErrorStats stats{.elements = count};
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      const auto spread = static_cast<double>(profile[i / profile_block]);
      judge_element(as_double(element<T>(output, i)), as_double(element<T>(baseline, i)),
                    std::isfinite(spread) ? spread : HUGE_VAL, scale, stats);
    }
  });
  return stats;
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Judges one element by the rule of numerics.hpp, with the same code on a CPU and in a kernel.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sandbox/judge/element_types.hpp"

namespace warpsmith::sandbox {

/// |y − ŷ| ≤ c · max(S, 4 u |ŷ| + 2^-100) + u_out |ŷ|. S is the sum of two parts: the mean absolute
/// deviation of evaluations with perturbed operators from the float64 reference
/// (reference/worker/modes.py; for half types weighted, and at least a share of the largest
/// deviation: reference/worker/deviations.py), and an eighth of the deviation of sums whose errors
/// of equal and small terms all add up (reference/worker/correlated.py). Integer and boolean
/// outputs: |y − ŷ| ≤ c · S, so exact wherever rounding has no influence. With a tolerance, outputs
/// of every type: |y − ŷ| ≤ tolerance · (1 + |ŷ|), without S.
struct BoundRule {
  double c = 8;          // bound_for sets it
  double u = 0x1.0p-24;  // unit roundoff of the accumulation in float32
  double tolerance = 0;  // absolute and relative; 0: the bound follows S
};

struct ErrorStats {
  double worst = 0;      // largest error / bound over elements that are finite on both sides
  size_t wrong = 0;      // elements beyond the bound, including `nonfinite`
  size_t nonfinite = 0;  // exactly one of output and reference is NaN or infinite
  size_t undefined = 0;  // elements with a reference that is NaN
  size_t undecided = 0;  // elements with a deviation that is not finite: any finite value passes
  size_t elements = 0;

  bool right() const { return wrong == 0; }
  WARPSMITH_HOST_DEVICE void add(const ErrorStats& other) {
    worst = larger(worst, other.worst);
    wrong += other.wrong;
    nonfinite += other.nonfinite;
    undefined += other.undefined;
    undecided += other.undecided;
    elements += other.elements;
  }
};

/// Number of neighbours whose deviations are averaged.
inline constexpr size_t pool = 8;

/// The terms of a bound.
struct Scale {
  double c = 0;
  double floor = 0;      // times |ŷ|, within c
  double floor_abs = 0;  // within c
  double store = 0;      // times |ŷ|, outside c
  bool by_spread = true;
};

WARPSMITH_HOST_DEVICE inline Scale scale_of(Dtype dtype, const BoundRule& rule) {
  // Below this, an exponential in float32 may legitimately underflow before it is scaled up.
  constexpr double smallest = 0x1.0p-100;
  if (rule.tolerance > 0) return {1, rule.tolerance, rule.tolerance, 0, false};
  const double unit = unit_of(dtype);
  if (unit == 0) return {rule.c, 0, 0, 0, true};
  return {rule.c, 4 * rule.u, smallest, unit, true};
}

/// Judges element y and adds it to `stats`, except for the count of elements.
WARPSMITH_HOST_DEVICE inline void judge_element(double y, double expected, double spread,
                                                const Scale& s, ErrorStats& stats) {
  if (!std::isfinite(expected) || !std::isfinite(y)) {
    stats.undefined += std::isnan(expected) ? 1 : 0;
    const bool same = std::isnan(expected) ? std::isnan(y) : y == expected;
    if (!same) ++stats.nonfinite, ++stats.wrong;
    return;
  }
  const double size = std::fabs(expected);
  const double error = std::fabs(y - expected);
  const double rounding = larger(s.by_spread ? spread : 0, s.floor * size + s.floor_abs);
  const double bound = s.c * rounding + s.store * size;
  if (!std::isfinite(bound)) ++stats.undecided;
  if (!(error <= bound)) ++stats.wrong;
  if (error > stats.worst * bound) stats.worst = bound > 0 ? error / bound : HUGE_VAL;
}

/// A lower bound for the deviation of up to `pool` neighbours: half of their root mean square. It
/// lifts a deviation that is near zero by chance and keeps an isolated large one local. `sum` is
/// the sum of squares.
WARPSMITH_HOST_DEVICE inline double least_spread(double sum, size_t count) {
  return 0.5 * std::sqrt(sum / static_cast<double>(count));
}

/// The deviation that counts for an element with deviation `own` among neighbours with `least`.
WARPSMITH_HOST_DEVICE inline double pooled_spread(double own, double least) {
  if (!std::isfinite(own)) return HUGE_VAL;
  return larger(own, std::isfinite(least) ? least : own);
}

/// The deviation in a profile's entry.
WARPSMITH_HOST_DEVICE inline double profile_spread(float entry) {
  return std::isfinite(entry) ? static_cast<double>(entry) : HUGE_VAL;
}

/// Raises a profile's entry to `spread`. NaN stays for good: rounding decides everything there.
WARPSMITH_HOST_DEVICE inline float raised(float entry, float spread) {
  if (std::isnan(entry)) return entry;
  return spread <= entry ? entry : spread;
}

}  // namespace warpsmith::sandbox

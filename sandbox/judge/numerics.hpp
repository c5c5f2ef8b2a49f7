// SPDX-License-Identifier: Apache-2.0
// Is an output right? A bound that follows the scale of each element's own rounding errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// |y − ŷ| ≤ c · max(S, 4 u |ŷ| + 2^-100) + u_out |ŷ|, where S is the mean absolute deviation, from
/// the float64 reference, of evaluations whose operators were perturbed
/// (reference/worker/modes.py), plus an eighth of the deviation that sums suffer when the errors of
/// equal and small terms all add up (reference/worker/correlated.py). Integer and boolean outputs:
/// |y − ŷ| ≤ c · S, so exact wherever rounding decides nothing.
struct BoundRule {
  double c = 8;
  double u = 0x1.0p-24;  // of the accumulation: float32
};

/// Fewer perturbed evaluations underestimate S more often: the constant pays for that.
/// Eight evaluations give the design's c = 8.
BoundRule bound_for(int evaluations);

struct ErrorStats {
  double worst = 0;      // largest error / bound over elements that are finite on both sides
  size_t wrong = 0;      // elements that miss the bound, `nonfinite` ones among them
  size_t nonfinite = 0;  // NaN or infinite where the reference is not, or the other way round
  size_t undefined = 0;  // elements whose reference is not finite
  size_t elements = 0;

  bool right() const { return wrong == 0; }
  void add(const ErrorStats& other);
};

/// What an output is compared with, element by element.
struct Reference {
  std::span<const double> value;  // ŷ
  std::span<const float> spread;  // S; not finite: rounding decides everything, any finite y passes
};

/// `output` holds elements of `dtype`, as many as the reference. Non-finite positions must match
/// exactly. Requires equal counts.
ErrorStats compare(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                   const BoundRule& rule);

/// Elements per entry of a calibrated profile.
inline constexpr size_t profile_block = 64;

/// The cheap check of a timed call: against the baseline's output of the same contents, with S by
/// position from `profile` (one entry per `profile_block` elements, see ingest).
ErrorStats compare_with_baseline(Dtype dtype, std::span<const std::byte> output,
                                 std::span<const std::byte> baseline,
                                 std::span<const float> profile, const BoundRule& rule);

}  // namespace warpsmith::sandbox

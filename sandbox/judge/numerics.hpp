// SPDX-License-Identifier: Apache-2.0
// Is an output right? A bound that follows the scale of each element's own rounding errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/element_bound.hpp"

namespace warpsmith::sandbox {

/// Fewer perturbed evaluations underestimate S more often: the constant pays for that.
/// Eight evaluations give the design's c = 8.
BoundRule bound_for(int evaluations);
/// Perturbed evaluations behind every bound of a verdict.
inline constexpr int spread_evaluations = 4;

/// Of numerics `paper`, absolute and relative: what published numbers on KernelBench allow.
inline constexpr double paper_tolerance = 1e-2;
/// `evaluations` are those behind S, which only `strict` asks for.
BoundRule bound_for(Numerics numerics, int evaluations);

/// What an output is compared with, element by element.
struct Reference {
  std::span<const double> value;  // ŷ
  std::span<const float> spread;  // S; not finite: rounding decides everything, any finite y passes
};

/// `output` holds elements of `dtype`, as many as the reference. Non-finite positions must match
/// exactly. Requires equal counts.
ErrorStats compare(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                   const BoundRule& rule);

/// Elements per entry of a calibrated profile of `count` elements: 64, more where that would make
/// more than 2^20 entries.
size_t profile_block_of(size_t count);

/// The cheap check of a timed call: against the baseline's output of the same contents, with S by
/// position from `profile` (see `profile_block_of` and ingest).
ErrorStats compare_with_baseline(Dtype dtype, std::span<const std::byte> output,
                                 std::span<const std::byte> baseline,
                                 std::span<const float> profile, const BoundRule& rule);

}  // namespace warpsmith::sandbox

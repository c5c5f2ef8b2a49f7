// SPDX-License-Identifier: Apache-2.0
// Checks outputs against a bound that follows each element's own rounding errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/element_bound.hpp"

namespace warpsmith::sandbox {

/// Fewer perturbed evaluations underestimate S more often, so the constant is larger: c is 16
/// for four evaluations and 8 for eight.
BoundRule bound_for(int evaluations);
/// The perturbed evaluations that every bound of a verdict is made from.
inline constexpr int spread_evaluations = 4;

/// The absolute and relative tolerance of numerics `paper`, from published numbers on KernelBench.
inline constexpr double paper_tolerance = 1e-2;
/// The number of sets that numerics `paper` verifies.
inline constexpr int paper_sets = 5;
/// `evaluations`: how many S is made from; only `strict` uses it.
BoundRule bound_for(Numerics numerics, int evaluations);

/// The reference of an output, element by element.
struct Reference {
  std::span<const double> value;  // ŷ
  std::span<const float> spread;  // S; if not finite, any finite y passes
};

/// `output` holds elements of `dtype`, as many as the reference. Non-finite positions must match
/// exactly.
ErrorStats compare(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                   const BoundRule& rule);

/// Calls `visit` with the index and value of each element that `compare` finds wrong.
void each_wrong(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                const BoundRule& rule, const std::function<void(size_t, double)>& visit);

/// Elements per entry of a profile for `count` elements: 64, or more to stay within 2^20 entries.
size_t profile_block_of(size_t count);

/// The cheap check of a timed call: compares with the baseline's output on the same contents, with
/// S by position from `profile` (see `profile_block_of` and ingest).
ErrorStats compare_with_baseline(Dtype dtype, std::span<const std::byte> output,
                                 std::span<const std::byte> baseline,
                                 std::span<const float> profile, const BoundRule& rule);

}  // namespace warpsmith::sandbox

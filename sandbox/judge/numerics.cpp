// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/numerics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "sandbox/commit/tensor_memory.hpp"

namespace warpsmith::sandbox {
namespace {

template <class T>
T element(std::span<const std::byte> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

void pooled(std::span<const float> spread, std::array<double, pool>& out) {
  double sum = 0;
  for (const float s : spread) sum += static_cast<double>(s) * static_cast<double>(s);
  const double least = least_spread(sum, spread.size());
  for (size_t i = 0; i < spread.size(); ++i) {
    out[i] = pooled_spread(static_cast<double>(spread[i]), least);
  }
}

/// Calls `visit` with each element's index, value and deviation.
template <class Visit>
void each_element(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                  const Visit& visit) {
  const size_t count = reference.value.size();
  assert(output.size() == count * element_bytes(dtype) && "output and reference differ in size");
  assert(reference.spread.size() == count && "spread and reference differ in size");
  with_type(dtype, [&](auto zero) {
    std::array<double, pool> spread{};
    for (size_t first = 0; first < count; first += pool) {
      const size_t width = std::min(pool, count - first);
      pooled(reference.spread.subspan(first, width), spread);
      for (size_t i = 0; i < width; ++i) {
        visit(first + i, as_double(element<decltype(zero)>(output, first + i)), spread[i]);
      }
    }
  });
}

}  // namespace

BoundRule bound_for(int evaluations) {
  if (evaluations >= 8) return {.c = 8};
  if (evaluations >= 6) return {.c = 10};
  if (evaluations >= 4) return {.c = 16};
  return {.c = 24};
}

BoundRule bound_for(Numerics numerics, int evaluations) {
  if (numerics == Numerics::paper) return {.c = 1, .tolerance = paper_tolerance};
  return bound_for(evaluations);
}

size_t profile_block_of(size_t count) {
  constexpr size_t least = 64;
  constexpr size_t most_entries = size_t{1} << 20U;
  return std::max(least, std::bit_ceil((count + most_entries - 1) / most_entries));
}

void each_wrong(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                const BoundRule& rule, const std::function<void(size_t, double)>& visit) {
  const Scale scale = scale_of(dtype, rule);
  each_element(dtype, output, reference, [&](size_t i, double y, double spread) {
    ErrorStats own;
    judge_element(y, reference.value[i], spread, scale, own);
    if (!own.right()) visit(i, y);
  });
}

ErrorStats compare(Dtype dtype, std::span<const std::byte> output, const Reference& reference,
                   const BoundRule& rule) {
  const Scale scale = scale_of(dtype, rule);
  ErrorStats stats{.elements = reference.value.size()};
  each_element(dtype, output, reference, [&](size_t i, double y, double spread) {
    judge_element(y, reference.value[i], spread, scale, stats);
  });
  return stats;
}

ErrorStats compare_with_baseline(Dtype dtype, std::span<const std::byte> output,
                                 std::span<const std::byte> baseline,
                                 std::span<const float> profile, const BoundRule& rule) {
  const size_t count = output.size() / element_bytes(dtype);
  assert(output.size() == baseline.size() && "output and baseline differ in size");
  const size_t block = profile_block_of(count);
  assert(profile.size() * block >= count && "the profile is too short");
  const Scale scale = scale_of(dtype, rule);
  ErrorStats stats{.elements = count};
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < count; ++i) {
      judge_element(as_double(element<T>(output, i)), as_double(element<T>(baseline, i)),
                    profile_spread(profile[i / block]), scale, stats);
    }
  });
  return stats;
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Generates the input sets: independent full-entropy draws from a keyed generator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sandbox/judge/element_values.hpp"
#include "sandbox/judge/keystream.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t distribution_count = 6;
/// The verified distributions besides `dense`.
inline constexpr std::array verified_distributions{Distribution::normal, Distribution::shifted,
                                                   Distribution::wide, Distribution::huge,
                                                   Distribution::sparse};
std::string_view to_string(Distribution distribution) noexcept;

std::string_view to_string(Domain domain) noexcept;

struct FillRule {
  Distribution distribution = Distribution::normal;
  Domain domain = Domain::free;
  int64_t row = 1;  // elements of the last axis, for `huge`
};

/// Writes `out`, with non-temporal stores where its alignment allows. 2^20 dense values take < 2
/// ms.
void fill_floats(std::span<float> out, const FillRule& rule, Keystream& stream);

void fill_parameter(std::span<float> out, const ParameterRule& rule, Keystream& stream);

}  // namespace warpsmith::sandbox

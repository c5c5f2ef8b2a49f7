// SPDX-License-Identifier: Apache-2.0
// The name somebody probably meant.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace warpsmith {

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal
/// string alignment). Cost: |a|·|b|.
size_t edit_distance(std::string_view a, std::string_view b);

/// What one search costs at most, in pairs of letters: both sides may be an adversary's.
inline constexpr size_t most_compared = size_t{1} << 20U;

/// The closest of `names`, of those that it can afford to look at; empty when there are none. Ties
/// go to the first in order.
std::string nearest_name(std::string_view name, const std::set<std::string>& names);

/// Whether no more than half of the longer would have to change.
bool is_near(std::string_view name, std::string_view other);

/// "there are a, b, c": for who is near none of a few.
std::string list_of(const std::set<std::string>& names);

}  // namespace warpsmith

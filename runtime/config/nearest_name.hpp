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

/// The closest of `names`; empty when there are none. Ties go to the first in order.
std::string nearest_name(std::string_view name, const std::set<std::string>& names);

}  // namespace warpsmith

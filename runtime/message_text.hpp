// SPDX-License-Identifier: Apache-2.0
// Helpers for error messages: quote untrusted text safely, and find the valid name closest to a
// misspelt one.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace warpsmith {

/// Replaces line ends by the letters \n and \r, so that no name adds lines to a report. Pure.
std::string one_line(std::string text);

/// The number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into
/// `b` (optimal string alignment). Costs |a|·|b|.
size_t edit_distance(std::string_view a, std::string_view b);

/// The most pairs of letters that one search compares, since both sides may be hostile input.
inline constexpr size_t max_compared = size_t{1} << 20U;

/// The closest of `names`, among those that fit into `max_compared`; empty if there are none. The
/// first of equally close names wins.
std::string nearest_name(std::string_view name, const std::set<std::string>& names);

/// The closest of dotted `paths` by their last part, then by the parts before it: the same word in
/// another table is close, and so is a table with the same beginning or end. Same limits.
std::string nearest_path(std::string_view path, const std::set<std::string>& paths);

/// True if at most half of the longer name would have to change.
bool is_near(std::string_view name, std::string_view other);

/// "expected one of a, b, c": the hint for a word that is close to none of a few names.
std::string list_of(const std::set<std::string>& names);

/// The text with one file name in place of another, wherever that stands as a whole name without a
/// folder. The judge's names of files (task.py, kernel.cpp) are not the user's.
std::string with_file_name(std::string text, std::string_view from, std::string_view to);

/// "the nearest is "check"" if a name is near, else the list of all.
std::string hint_for(std::string_view word, const std::set<std::string>& names);

}  // namespace warpsmith

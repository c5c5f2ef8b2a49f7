// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/glob_pattern.hpp"

#include <vector>

namespace warpsmith::sandbox {
namespace {

/// Greedy matching that backtracks only to the last star: O(pattern × text).
template <class Sequence, class IsStar, class Fits>
bool matches(const Sequence& pattern, const Sequence& text, IsStar is_star, Fits fits) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.size();
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && is_star(pattern[p])) {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.size()) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && is_star(pattern[p])) ++p;
  return p == pattern.size();
}

bool name_matches(std::string_view pattern, std::string_view name) {
  return matches(
      pattern, name, [](char c) { return c == '*'; },
      [](char wanted, char c) { return wanted == '?' || wanted == c; });
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size() < path.size() ? part.size() + 1 : path.size());
    if (!part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view path) {
  std::vector<std::string_view> wanted = parts_of(pattern);
  if (pattern.find('/') == std::string_view::npos) wanted.insert(wanted.begin(), "**");
  return matches(
      wanted, parts_of(path), [](std::string_view part) { return part == "**"; }, name_matches);
}

}  // namespace warpsmith::sandbox

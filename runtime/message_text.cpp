// SPDX-License-Identifier: Apache-2.0
#include "runtime/message_text.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace warpsmith {
namespace {

bool swapped(std::string_view a, std::string_view b, size_t i, size_t j) {
  return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

}  // namespace

std::string one_line(std::string text) {
  for (const auto& [end, letters] : {std::pair{'\n', "\\n"}, std::pair{'\r', "\\r"}}) {
    for (size_t at = text.find(end); at != std::string::npos; at = text.find(end, at)) {
      text.replace(at, 1, letters);
    }
  }
  return text;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t j = 0; j < width; ++j) cost[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    cost[i * width] = i;
    for (size_t j = 1; j < width; ++j) {
      const size_t above = (i - 1) * width + j;
      const size_t here = i * width + j;
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[here] = std::min({cost[above] + 1, cost[here - 1] + 1, cost[above - 1] + change});
      if (swapped(a, b, i, j)) cost[here] = std::min(cost[here], cost[above - width - 2] + 1);
    }
  }
  return cost.back();
}

std::string nearest_name(std::string_view name, const std::set<std::string>& names) {
  std::string best;
  size_t best_distance = SIZE_MAX, left = max_compared;
  for (const std::string& candidate : names) {
    const size_t cost = (name.size() + 1) * (candidate.size() + 1);
    if (cost > left) continue;
    left -= cost;
    const size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

bool is_near(std::string_view name, std::string_view other) {
  return 2 * edit_distance(name, other) <= std::max(name.size(), other.size());
}

std::string list_of(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "expected one of " : ", ") + name;
  return all;
}

}  // namespace warpsmith

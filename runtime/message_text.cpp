// SPDX-License-Identifier: Apache-2.0
#include "runtime/message_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace warpsmith {
namespace {

bool swapped(std::string_view a, std::string_view b, size_t i, size_t j) {
  return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

/// Edits per letter, from 0 to 1.
double difference(std::string_view a, std::string_view b) {
  const size_t longer = std::max(a.size(), b.size());
  return longer == 0 ? 0 : static_cast<double>(edit_distance(a, b)) / static_cast<double>(longer);
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

/// The path without its last part; empty for a path of one part.
std::string_view parent_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? "" : path.substr(0, dot);
}

/// True if the parts of `shorter` are the first or the last ones of `longer`.
bool is_end_of(std::string_view shorter, std::string_view longer) {
  if (shorter.empty()) return true;
  if (shorter.size() >= longer.size()) return false;
  const size_t rest = longer.size() - shorter.size();
  return (longer.starts_with(shorter) && longer[shorter.size()] == '.') ||
         (longer.ends_with(shorter) && longer[rest - 1] == '.');
}

/// 0 for the same table, 0.2 for each part that one of them lacks, more for other tables.
double difference_of_tables(std::string_view a, std::string_view b) {
  constexpr double per_part = 0.2, other_table = 0.25;
  if (a == b) return 0;
  if (!is_end_of(a, b) && !is_end_of(b, a)) return other_table + difference(a, b);
  const auto parts = [](std::string_view path) {
    return path.empty() ? 0 : 1 + std::count(path.begin(), path.end(), '.');
  };
  return per_part * static_cast<double>(std::abs(parts(a) - parts(b)));
}

/// The name with the least `cost` that fits into `max_compared` with all before it.
template <class Cost>
std::string cheapest(std::string_view name, const std::set<std::string>& names, const Cost& cost) {
  std::string best;
  double least = std::numeric_limits<double>::infinity();
  size_t left = max_compared;
  for (const std::string& candidate : names) {
    const size_t pairs = (name.size() + 1) * (candidate.size() + 1);
    if (pairs > left) continue;
    left -= pairs;
    const double now = cost(candidate);
    if (now >= least) continue;
    least = now;
    best = candidate;
  }
  return best;
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
  return cheapest(name, names, [name](const std::string& candidate) {
    return static_cast<double>(edit_distance(name, candidate));
  });
}

std::string nearest_path(std::string_view path, const std::set<std::string>& paths) {
  return cheapest(path, paths, [path](const std::string& candidate) {
    const double parts = 2 * difference(last_part(path), last_part(candidate)) +
                         difference_of_tables(parent_of(path), parent_of(candidate));
    // A dot may be misspelt too: learner.step_tokens for learner.step.tokens.
    return std::min(parts, 4 * difference(path, candidate));
  });
}

bool is_near(std::string_view name, std::string_view other) {
  return 2 * edit_distance(name, other) <= std::max(name.size(), other.size());
}

std::string list_of(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "expected one of " : ", ") + name;
  return all;
}

std::string with_file_name(std::string text, std::string_view from, std::string_view to) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '/';
  };
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    const size_t end = at + from.size();
    const bool whole = (at == 0 || (!in_name(text[at - 1]) && text[at - 1] != '.')) &&
                       (end == text.size() || !in_name(text[end]));
    if (whole) text.replace(at, from.size(), to);
    at += whole ? to.size() : from.size();
  }
  return text;
}

std::string hint_for(std::string_view word, const std::set<std::string>& names) {
  const std::string nearest = nearest_name(word, names);
  return is_near(word, nearest) ? "the nearest is \"" + nearest + "\"" : list_of(names);
}

}  // namespace warpsmith

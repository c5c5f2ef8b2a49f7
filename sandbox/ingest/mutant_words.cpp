// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/mutant_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace warpsmith::sandbox {
namespace {

/// The names of mutants.py.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> words{{
    {"zeros", "zeros everywhere"},
    {"constant_mean", "the mean as a constant"},
    {"identity", "the input unchanged"},
    {"first_row", "the first row in every row"},
    {"bf16", "everything in bfloat16"},
    {"half_reduction", "half of each reduction"},
    {"short_reduction", "each reduction without its last term"},
    {"off_by_one_tail", "the last element not computed"},
    {"tf32", "everything in tf32"},
}};

std::string words_of(std::string_view name) {
  constexpr std::string_view dropped = "dropped_";
  const auto found = std::ranges::find(words, name, &decltype(words)::value_type::first);
  if (found != words.end()) return std::string(found->second);
  if (!name.starts_with(dropped)) return std::string(name);
  return "without the parameter " + std::string(name.substr(dropped.size()));
}

/// One of the parts between commas: a name, its error in brackets; or a sentence, which stays.
std::string part_in_words(std::string_view part) {
  constexpr std::string_view timed = "in timed calls ";
  const std::string_view front = part.starts_with(timed) ? timed : std::string_view{};
  part.remove_prefix(front.size());
  const size_t end = std::min(part.find(" ("), part.size());
  return std::string(front) + words_of(part.substr(0, end)) + std::string(part.substr(end));
}

}  // namespace

std::string in_words(const std::string& wrong_answers) {
  constexpr std::string_view comma = ", ";
  std::string text;
  std::string_view rest = wrong_answers;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(comma), rest.size());
    text += (text.empty() ? "" : comma);
    text += part_in_words(rest.substr(0, end));
    rest.remove_prefix(std::min(end + comma.size(), rest.size()));
  }
  return text;
}

}  // namespace warpsmith::sandbox

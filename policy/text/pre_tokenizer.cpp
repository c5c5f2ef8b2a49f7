// SPDX-License-Identifier: Apache-2.0
#include "policy/text/pre_tokenizer.hpp"

#include <stdexcept>

#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

using Pieces = std::vector<std::string>;

/// GPT-2's pre-tokenizer pattern: contractions, words, numbers, other marks, white space.
const Regex& gpt2_pattern() {
  static const Regex pattern = [] {
    auto compiled = Regex::compile(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
    if (!compiled) throw std::logic_error(compiled.error().message);
    return *compiled;
  }();
  return pattern;
}

void add_piece(std::string_view piece, Pieces& out) {
  if (!piece.empty()) out.emplace_back(piece);
}

void split_by(const Regex& pattern, std::string_view text, Pieces& out) {
  size_t done = 0;
  size_t from = 0;
  while (from < text.size()) {
    const auto match = pattern.find(text, from);
    if (!match) break;
    const auto [begin, end] = *match;
    add_piece(text.substr(done, begin - done), out);
    add_piece(text.substr(begin, end - begin), out);
    done = end;
    // An empty match splits nothing; skip a character so that the loop ends.
    from = end > begin ? end : end + (end < text.size() ? next_utf8(text.substr(end)).length : 1);
  }
  add_piece(text.substr(done), out);
}

void split_digits(bool individual, std::string_view text, Pieces& out) {
  bool open = false;  // the last piece may be extended
  bool last_is_number = false;
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    const bool number = is_numeric(step.character);
    const bool joins = open && number == last_is_number && !(number && individual);
    if (!joins) out.emplace_back();
    out.back().append(text.substr(0, step.length));
    open = true;
    last_is_number = number;
    text.remove_prefix(step.length);
  }
}

void split_bytes(const ByteLevelStep& step, std::string_view text, Pieces& out) {
  std::string prefixed;
  if (step.add_prefix_space && !text.starts_with(' ')) {
    prefixed = " " + std::string(text);
    text = prefixed;
  }
  if (step.use_pattern) {
    split_by(gpt2_pattern(), text, out);
  } else {
    add_piece(text, out);
  }
}

struct Apply {
  std::string_view text;
  Pieces& out;

  void operator()(const SplitStep& step) const { split_by(step.pattern, text, out); }
  void operator()(const DigitsStep& step) const { split_digits(step.individual, text, out); }
  void operator()(const ByteLevelStep& step) const { split_bytes(step, text, out); }
};

}  // namespace

std::vector<std::string> PreTokenizer::split(std::string_view text) const {
  Pieces pieces;
  add_piece(text, pieces);
  for (const PreTokenizerStep& step : steps_) {
    Pieces finer;
    for (const std::string& piece : pieces) std::visit(Apply{piece, finer}, step);
    pieces = std::move(finer);
  }
  return pieces;
}

}  // namespace warpsmith::policy

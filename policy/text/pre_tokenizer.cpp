// SPDX-License-Identifier: Apache-2.0
#include "policy/text/pre_tokenizer.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "policy/text/unicode.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace warpsmith::policy {
namespace {

constexpr std::string_view space_ranges =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view word_classes = R"(\p{L}\p{M}\p{Nd}\p{Pc})";

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// The translation of the escape `\c`; empty if there is none.
std::optional<std::string> translate_escape(char c, bool in_class) {
  const auto set = [&](std::string_view members) {
    return in_class ? std::string(members) : "[" + std::string(members) + "]";
  };
  switch (c) {
    case 's':
      return set(space_ranges);
    case 'w':
      return set(word_classes);
    case 'S':
      if (in_class) return std::nullopt;
      return "[^" + std::string(space_ranges) + "]";
    case 'W':
    case 'h':  // a hexadecimal digit to Oniguruma, horizontal space to PCRE2
    case 'H':
      return std::nullopt;
    default:
      return std::string{'\\', c};
  }
}

/// Translates an Oniguruma pattern for PCRE2. Expands `\s`, `\S` and `\w`, because the libraries
/// disagree about rare characters.
Result<std::string> translate_pattern(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const auto translated = translate_escape(pattern[++i], in_class);
      if (!translated) {
        return fail(ErrorCode::unsupported, "pattern \"" + std::string(pattern) + "\": escape \\" +
                                                pattern[i] + " is not supported here");
      }
      out += *translated;
      continue;
    }
    if (c == '[' && in_class) {
      return fail(ErrorCode::unsupported,
                  "pattern \"" + std::string(pattern) + "\": nested classes are not supported");
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

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
    // An empty match splits nothing; skips a character so that the loop ends.
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

void Regex::Free::operator()(void* code) const noexcept {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  TRY(const auto translated, translate_pattern(pattern));
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  if (code == nullptr) {
    return fail(ErrorCode::parse_failed,
                fmt::format("pattern \"{}\", near {}: {}", pattern, offset, message_of(error)));
  }
  // If just-in-time compilation fails, PCRE2 interprets the pattern with the same result.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(code);
}

std::optional<std::pair<size_t, size_t>> Regex::find(std::string_view text, size_t start) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), start,
                                PCRE2_NO_UTF_CHECK, data.get(), nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (found < 0) throw std::runtime_error("pattern matching failed: " + message_of(found));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
  return std::pair(ends[0], ends[1]);
}

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

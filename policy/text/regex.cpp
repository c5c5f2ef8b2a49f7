// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "policy/text/regex.hpp"

#include <pcre2.h>

#include <array>
#include <stdexcept>

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

}  // namespace

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

void Regex::Free::operator()(void* code) const noexcept {
  pcre2_code_free(static_cast<pcre2_code*>(code));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  const auto translated = translate_pattern(pattern);
  if (!translated) return tl::unexpected(translated.error());
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()), translated->size(),
                    PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  if (code == nullptr) {
    return fail(ErrorCode::parse_failed, "pattern \"" + std::string(pattern) + "\", near " +
                                             std::to_string(offset) + ": " + message_of(error));
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

}  // namespace warpsmith::policy

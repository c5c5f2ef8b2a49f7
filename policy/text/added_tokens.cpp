// SPDX-License-Identifier: Apache-2.0
#include "policy/text/added_tokens.hpp"

#include <algorithm>

#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

/// The last character of valid UTF-8.
char32_t last_character(std::string_view text) {
  size_t start = text.size() - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) --start;
  return next_utf8(text.substr(start)).character;
}

bool touches_word(std::string_view before, std::string_view after) {
  const bool left = !before.empty() && is_word(last_character(before));
  return left || (!after.empty() && is_word(next_utf8(after).character));
}

size_t leading_space(std::string_view text) {
  size_t length = 0;
  while (length < text.size()) {
    const Utf8Step step = next_utf8(text.substr(length));
    if (!is_whitespace(step.character)) break;
    length += step.length;
  }
  return length;
}

/// The offset of the white space at the end of `text`.
size_t trailing_space_start(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const std::string_view rest = text.substr(0, end);
    if (!is_whitespace(last_character(rest))) break;
    --end;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  }
  return end;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();
  });
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    by_first_[static_cast<unsigned char>(tokens_[i].content.front())].push_back(i);
  }
}

const AddedToken* AddedTokenFinder::token_at(std::string_view text) const {
  for (const uint32_t index : by_first_[static_cast<unsigned char>(text.front())]) {
    if (text.starts_with(tokens_[index].content)) return &tokens_[index];
  }
  return nullptr;
}

std::vector<TextPart> AddedTokenFinder::split(std::string_view text) const {
  std::vector<TextPart> parts;
  size_t done = 0;  // everything before is in `parts`
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = token_at(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + token->content.size();
    at = end;
    if (token->single_word && touches_word(text.substr(0, begin), text.substr(end))) continue;
    if (token->lstrip) begin = std::max(trailing_space_start(text.substr(0, begin)), done);
    if (token->rstrip) end += leading_space(text.substr(end));
    begin = std::max(begin, done);
    if (begin > done) parts.push_back({text.substr(done, begin - done), std::nullopt});
    parts.push_back({text.substr(begin, end - begin), token->id});
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) parts.push_back({text.substr(done), std::nullopt});
  return parts;
}

}  // namespace warpsmith::policy

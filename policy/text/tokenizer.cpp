// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tokenizer.hpp"

#include <fmt/format.h>

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

constexpr int32_t max_token_id = 1 << 24;

std::vector<AddedToken> with_normalized(const std::vector<AddedToken>& all, bool normalized) {
  std::vector<AddedToken> chosen;
  for (const AddedToken& token : all) {
    if (token.normalized == normalized) chosen.push_back(token);
  }
  return chosen;
}

Result<void> check_id(int32_t id, const std::string& what) {
  if (id >= 0 && id <= max_token_id) return {};
  return fail(ErrorCode::parse_failed,
              fmt::format("tokenizer: {}: id {} is out of range", what, id));
}

Result<void> check(const TokenizerSpec& spec) {
  for (const auto& [entry, id] : spec.bpe.vocabulary) {
    TRY_VOID(check_id(id, "entry \"" + entry + "\""));
  }
  for (const AddedToken& token : spec.added) {
    TRY_VOID(check_id(token.id, "added token \"" + token.content + "\""));
    if (token.content.empty()) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("tokenizer: added token {} has no content", token.id));
    }
  }
  return {};
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

Result<Tokenizer> Tokenizer::make(TokenizerSpec spec) {
  TRY_VOID(check(spec));
  TRY(auto bpe, ByteLevelBpe::make(spec.bpe));
  if (spec.normalizer == Normalizer::nfc) {
    for (AddedToken& token : spec.added) {
      if (token.normalized) token.content = normalize_nfc(to_valid_utf8(token.content));
    }
  }
  return Tokenizer(std::move(bpe), std::move(spec));
}

Tokenizer::Tokenizer(ByteLevelBpe bpe, TokenizerSpec spec)
    : bpe_(std::move(bpe)),
      normalizer_(spec.normalizer),
      pre_tokenizer_(std::move(spec.steps)),
      raw_tokens_(with_normalized(spec.added, false)),
      normalized_tokens_(with_normalized(spec.added, true)),
      prefix_(std::move(spec.prefix)),
      suffix_(std::move(spec.suffix)) {
  const auto enter = [&](int32_t id, const std::string& entry) {
    const auto at = static_cast<size_t>(id);
    if (at >= bytes_.size()) bytes_.resize(at + 1);
    bytes_[at] = token_bytes(entry);
    ids_[entry] = id;
  };
  for (const auto& [entry, id] : spec.bpe.vocabulary) enter(id, entry);
  for (const AddedToken& token : spec.added) enter(token.id, token.content);
  special_.resize(bytes_.size());
  for (const AddedToken& token : spec.added) {
    special_[static_cast<size_t>(token.id)] = token.special;
  }
}

std::string Tokenizer::normalized(std::string_view text) const {
  return normalizer_ == Normalizer::none ? std::string(text) : normalize_nfc(text);
}

/// Collects tokens. Keeps the text since the last added token, which is merged as a whole.
class Tokenizer::Encoding {
 public:
  Encoding(const Tokenizer& tokenizer, std::vector<int32_t> first)
      : tokenizer_(tokenizer), tokens_(std::move(first)) {}

  void add(const TextRun& run) {
    const std::string valid = to_valid_utf8(run.text);
    if (run.untrusted) {
      open_ += tokenizer_.normalized(valid);
      return;
    }
    for (const TextPart& part : tokenizer_.raw_tokens_.split(valid)) {
      if (part.token) {
        add_token(*part.token);
      } else {
        add_normalized(tokenizer_.normalized(part.text));
      }
    }
  }

  std::vector<int32_t> take() {
    merge();
    return std::move(tokens_);
  }

 private:
  void add_normalized(std::string_view text) {
    for (const TextPart& part : tokenizer_.normalized_tokens_.split(text)) {
      if (part.token) {
        add_token(*part.token);
      } else {
        open_ += part.text;
      }
    }
  }
  void add_token(int32_t id) {
    merge();
    tokens_.push_back(id);
  }
  void merge() {
    if (open_.empty()) return;
    for (const std::string& piece : tokenizer_.pre_tokenizer_.split(open_)) {
      tokenizer_.bpe_.encode(piece, tokens_);
    }
    open_.clear();
  }

  const Tokenizer& tokenizer_;
  std::vector<int32_t> tokens_;
  std::string open_;  // normalised
};

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  const bool adds = special == SpecialTokens::add;
  Encoding encoding(*this, adds ? prefix_ : std::vector<int32_t>{});
  encoding.add({std::string(text), false});
  std::vector<int32_t> out = encoding.take();
  if (adds) out.insert(out.end(), suffix_.begin(), suffix_.end());
  return out;
}

std::vector<int32_t> Tokenizer::encode(const MarkedText& text) const {
  Encoding encoding(*this, {});
  for (const TextRun& run : text.runs()) encoding.add(run);
  return encoding.take();
}

std::string Tokenizer::decode(std::span<const int32_t> tokens, Skip skip) const {
  std::string bytes;
  for (const int32_t token : tokens) {
    if (skip == Skip::special && is_special(token)) continue;
    bytes += bytes_of(token);
  }
  return to_valid_utf8(bytes);
}

std::string_view Tokenizer::bytes_of(int32_t token) const {
  if (token < 0 || token >= vocabulary_size()) return {};
  return bytes_[static_cast<size_t>(token)];
}

bool Tokenizer::is_special(int32_t token) const {
  return token >= 0 && token < vocabulary_size() && special_[static_cast<size_t>(token)];
}

std::optional<int32_t> Tokenizer::id_of(std::string_view entry) const {
  const auto it = ids_.find(std::string(entry));
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace warpsmith::policy

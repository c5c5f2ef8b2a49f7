// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tokenizer.hpp"

#include <algorithm>

#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

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
              "tokenizer: " + what + ": id " + std::to_string(id) + " is out of range");
}

Result<void> check(const TokenizerSpec& spec) {
  for (const auto& [entry, id] : spec.bpe.vocabulary) {
    if (auto ok = check_id(id, "entry \"" + entry + "\""); !ok) return ok;
  }
  for (const AddedToken& token : spec.added) {
    if (auto ok = check_id(token.id, "added token \"" + token.content + "\""); !ok) return ok;
    if (token.content.empty()) {
      return fail(ErrorCode::parse_failed,
                  "tokenizer: added token " + std::to_string(token.id) + " has no content");
    }
  }
  return {};
}

}  // namespace

Result<Tokenizer> Tokenizer::make(TokenizerSpec spec) {
  if (auto ok = check(spec); !ok) return tl::unexpected(ok.error());
  auto bpe = ByteLevelBpe::make(spec.bpe);
  if (!bpe) return tl::unexpected(bpe.error());
  if (spec.normalizer == Normalizer::nfc) {
    for (AddedToken& token : spec.added) {
      if (token.normalized) token.content = normalize_nfc(to_valid_utf8(token.content));
    }
  }
  return Tokenizer(std::move(*bpe), std::move(spec));
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
    if (run.foreign) {
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

// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back. Added tokens are cut out first; the rest is split, then merged. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/text/byte_level_bpe.hpp"
#include "policy/text/marked_text.hpp"
#include "policy/text/pre_tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Flags as tokenizer.json defines them.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;      // left out by a decoder that skips special tokens
  bool single_word = false;  // matches only between non-word characters
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool normalized = false;   // searched in the normalised text, not in the raw one
};

/// A part of a text: an added token, or the text between two.
struct TextPart {
  std::string_view text;
  std::optional<int32_t> token;
};

/// Finds added tokens from left to right; at each place the longest one.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// The parts in order; their texts joined are `text`.
  std::vector<TextPart> split(std::string_view text) const;
  bool empty() const { return tokens_.empty(); }

 private:
  const AddedToken* token_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;                     // longest first
  std::array<std::vector<uint32_t>, 256> by_first_{};  // indices into tokens_, longest first
};

enum class Normalizer : uint8_t { none, nfc };

/// The content of tokenizer.json; `read_tokenizer` in policy/format reads it.
struct TokenizerSpec {
  BpeSpec bpe;
  std::vector<AddedToken> added;
  Normalizer normalizer = Normalizer::none;
  std::vector<PreTokenizerStep> steps;
  std::vector<int32_t> prefix;  // special tokens that the post-processor adds before a text
  std::vector<int32_t> suffix;  // and after a text
};

enum class SpecialTokens : uint8_t { leave_out, add };  // those of the post-processor
enum class Skip : uint8_t { nothing, special };

/// Immutable: safe to share between threads.
class Tokenizer {
 public:
  static Result<Tokenizer> make(TokenizerSpec spec);

  /// The tokens of `text`. Recognises special tokens that are written out. Invalid UTF-8 is read as
  /// U+FFFD.
  std::vector<int32_t> encode(std::string_view text,
                              SpecialTokens special = SpecialTokens::leave_out) const;
  /// The tokens of a text; recognises no added tokens, special or not, in its untrusted parts.
  /// Merges cross the borders of parts, as if the text were one.
  std::vector<int32_t> encode(const MarkedText& text) const;
  /// Always valid UTF-8; invalid bytes become U+FFFD. Leaves out unknown ids.
  std::string decode(std::span<const int32_t> tokens, Skip skip = Skip::nothing) const;
  /// The bytes of one token, possibly parts of characters; empty if the token is unknown.
  std::string_view bytes_of(int32_t token) const;
  bool is_special(int32_t token) const;
  /// The id of an entry, spelled as in the file ("<|im_end|>"); empty if there is none.
  std::optional<int32_t> id_of(std::string_view entry) const;
  /// One more than the largest id.
  int32_t vocabulary_size() const { return static_cast<int32_t>(bytes_.size()); }

 private:
  Tokenizer(ByteLevelBpe bpe, TokenizerSpec spec);
  class Encoding;
  std::string normalized(std::string_view text) const;

  ByteLevelBpe bpe_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokenFinder raw_tokens_;         // searched in the raw text
  AddedTokenFinder normalized_tokens_;  // searched after normalisation
  std::vector<int32_t> prefix_, suffix_;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;       // by id
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace warpsmith::policy

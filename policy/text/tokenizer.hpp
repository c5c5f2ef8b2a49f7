// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back, as the model was trained to see them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/text/added_tokens.hpp"
#include "policy/text/byte_level_bpe.hpp"
#include "policy/text/pre_tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

enum class Normalizer : uint8_t { none, nfc };

/// Everything that tokenizer.json says; see `read_tokenizer` in policy/format.
struct TokenizerSpec {
  BpeSpec bpe;
  std::vector<AddedToken> added;
  Normalizer normalizer = Normalizer::none;
  std::vector<PreTokenizerStep> steps;
  std::vector<int32_t> prefix;  // special tokens that the post-processor puts before a text
  std::vector<int32_t> suffix;  // and after it
};

enum class SpecialTokens : uint8_t { leave_out, add };  // those of the post-processor
enum class Skip : uint8_t { nothing, special };

/// Immutable: safe to share between threads.
class Tokenizer {
 public:
  static Result<Tokenizer> make(TokenizerSpec spec);

  /// Tokens of `text`; special tokens written out in it are recognised. Bytes that are not UTF-8
  /// are read as U+FFFD.
  std::vector<int32_t> encode(std::string_view text,
                              SpecialTokens special = SpecialTokens::leave_out) const;
  /// Always valid UTF-8: what is not becomes U+FFFD. Unknown ids are left out.
  std::string decode(std::span<const int32_t> tokens, Skip skip = Skip::nothing) const;
  /// The bytes of one token, which need not be whole characters; empty if unknown.
  std::string_view bytes_of(int32_t token) const;
  bool is_special(int32_t token) const;
  /// The id of an entry as the file spells it ("<|im_end|>"); nothing if there is none.
  std::optional<int32_t> id_of(std::string_view entry) const;
  /// One more than the largest id.
  int32_t vocabulary_size() const { return static_cast<int32_t>(bytes_.size()); }

 private:
  Tokenizer(ByteLevelBpe bpe, TokenizerSpec spec);
  void encode_plain(std::string_view text, std::vector<int32_t>& out) const;
  void encode_normalized(std::string_view text, std::vector<int32_t>& out) const;

  ByteLevelBpe bpe_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokenFinder raw_tokens_;         // looked for in the text as it comes
  AddedTokenFinder normalized_tokens_;  // looked for after normalisation
  std::vector<int32_t> prefix_, suffix_;
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;       // by id
  std::unordered_map<std::string, int32_t> ids_;
};

}  // namespace warpsmith::policy

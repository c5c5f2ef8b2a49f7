// SPDX-License-Identifier: Apache-2.0
// Added tokens: cut out of the text before normalisation and merges. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Tokens that are cut out of the text before anything else looks at it.
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
  bool special = false;      // left out when a decoder skips special tokens
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalised text, not in the raw one
};

/// A stretch of text: a token, or plain text in between.
struct TextPart {
  std::string_view text;
  std::optional<int32_t> token;
};

/// Finds the leftmost, of equal beginnings the longest token, again and again.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  /// Parts in order; joined their texts give `text`.
  std::vector<TextPart> split(std::string_view text) const;
  bool empty() const { return tokens_.empty(); }

 private:
  const AddedToken* token_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;                     // longest first
  std::array<std::vector<uint32_t>, 256> by_first_{};  // indices into tokens_, longest first
};

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding over bytes (Sennrich et al., 2016; GPT-2's byte alphabet).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// GPT-2 writes bytes as printable characters in vocabulary files: the character of each byte.
const std::array<char32_t, 256>& byte_characters();

/// The bytes that a vocabulary entry stands for; its own UTF-8 if it holds a character outside the
/// byte alphabet (as added tokens may).
std::string token_bytes(std::string_view entry);

/// Vocabulary and merges as tokenizer.json spells them.
struct BpeSpec {
  std::vector<std::pair<std::string, int32_t>> vocabulary;  // entry, id
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::string unknown;         // entry for bytes that have none; empty: they are left out
  bool fuse_unknown = false;   // unknown bytes in a row are one token
  bool ignore_merges = false;  // a piece that is an entry is one token, whatever the merges
};

class ByteLevelBpe {
 public:
  /// `parse_failed` names an id given twice or a merge whose parts or result are no entries.
  static Result<ByteLevelBpe> make(const BpeSpec& spec);

  /// Appends the tokens of one piece (raw bytes). Bytes without an entry become the unknown token,
  /// or are left out by a model that has none, as the reference implementation does.
  void encode(std::string_view piece, std::vector<int32_t>& out) const;

 private:
  struct Merge {
    int32_t rank = 0;
    int32_t result = 0;
  };
  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U | static_cast<uint32_t>(right);
  }
  std::vector<int32_t> symbols_of(std::string_view piece) const;
  void merge_short(std::vector<int32_t>& symbols) const;
  void merge_long(std::vector<int32_t>& symbols) const;

  int32_t unknown_ = -1;  // -1: none
  bool fuse_unknown_ = false;
  std::array<int32_t, 256> byte_tokens_{};           // -1: no entry
  std::unordered_map<std::string, int32_t> pieces_;  // raw bytes → id, if `ignore_merges`
  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace warpsmith::policy

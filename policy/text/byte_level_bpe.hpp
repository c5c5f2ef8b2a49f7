// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding (Sennrich et al., arXiv 1508.07909) over bytes, with GPT-2's byte alphabet.
// Pure.
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

/// The printable character for each byte in GPT-2's vocabulary files.
const std::array<char32_t, 256>& byte_characters();

/// The bytes of a vocabulary entry; its own UTF-8 if it has a character outside the byte alphabet,
/// as added tokens may.
std::string token_bytes(std::string_view entry);

/// Vocabulary and merges as in tokenizer.json.
struct BpeSpec {
  std::vector<std::pair<std::string, int32_t>> vocabulary;  // entry, id
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::string unknown;         // entry for bytes without one; empty: they are left out
  bool fuse_unknown = false;   // consecutive unknown bytes are one token
  bool ignore_merges = false;  // a piece that is an entry is one token
};

class ByteLevelBpe {
 public:
  /// `parse_failed` for a duplicate id, or a merge whose parts or result are not entries.
  static Result<ByteLevelBpe> make(const BpeSpec& spec);

  /// Appends the tokens of one piece (raw bytes). A byte without an entry becomes the unknown
  /// token, or is left out if there is none, as in the reference implementation.
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

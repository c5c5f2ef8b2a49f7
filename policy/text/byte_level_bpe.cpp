// SPDX-License-Identifier: Apache-2.0
#include "policy/text/byte_level_bpe.hpp"

#include <fmt/format.h>

#include <queue>
#include <unordered_set>

#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

const std::unordered_map<char32_t, char>& bytes_of_characters() {
  static const std::unordered_map<char32_t, char> table = [] {
    std::unordered_map<char32_t, char> made;
    for (size_t byte = 0; byte < 256; ++byte) {
      made[byte_characters()[byte]] = static_cast<char>(byte);
    }
    return made;
  }();
  return table;
}

tl::unexpected<Error> wrong_vocabulary(const std::string& what) {
  return fail(ErrorCode::parse_failed, "tokenizer: " + what);
}

std::string unknown_merge(size_t rank, const std::string& left, const std::string& right) {
  return fmt::format("merge {} of \"{}\" and \"{}\": a part or the result is not in the vocabulary",
                     rank, left, right);
}

/// A candidate for a merge; candidates are ordered as merges are applied.
struct Candidate {
  int32_t rank;
  size_t position;  // of the left symbol
  int32_t left, right, result;

  bool operator>(const Candidate& other) const {
    return std::pair(rank, position) > std::pair(other.rank, other.position);
  }
};

struct Symbol {
  int32_t id;
  size_t previous, next;
};
constexpr size_t none = SIZE_MAX;
constexpr int32_t merged_away = -1;

}  // namespace

const std::array<char32_t, 256>& byte_characters() {
  static const std::array<char32_t, 256> table = [] {
    std::array<char32_t, 256> made{};
    char32_t next = 256;  // unprintable bytes become U+0100 and following
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool prints =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE);
      made[byte] = prints ? byte : next++;
    }
    return made;
  }();
  return table;
}

std::string token_bytes(std::string_view entry) {
  const auto& table = bytes_of_characters();
  std::string bytes;
  for (std::string_view rest = entry; !rest.empty();) {
    const Utf8Step step = next_utf8(rest);
    const auto it = table.find(step.character);
    if (step.state != Utf8State::valid || it == table.end()) return std::string(entry);
    bytes += it->second;
    rest.remove_prefix(step.length);
  }
  return bytes;
}

Result<ByteLevelBpe> ByteLevelBpe::make(const BpeSpec& spec) {
  ByteLevelBpe bpe;
  std::unordered_map<std::string_view, int32_t> ids;
  std::unordered_set<int32_t> used;
  for (const auto& [entry, id] : spec.vocabulary) {
    if (id < 0 || !used.insert(id).second) {
      return wrong_vocabulary(fmt::format("entry \"{}\": id {} is taken or negative", entry, id));
    }
    ids[entry] = id;
    if (spec.ignore_merges) bpe.pieces_[token_bytes(entry)] = id;
  }
  if (!spec.unknown.empty()) {
    const auto it = ids.find(spec.unknown);
    if (it == ids.end())
      return wrong_vocabulary("unk_token \"" + spec.unknown + "\" is not in the vocabulary");
    bpe.unknown_ = it->second;
    bpe.fuse_unknown_ = spec.fuse_unknown;
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string character;
    append_utf8(byte_characters()[byte], character);
    const auto it = ids.find(character);
    bpe.byte_tokens_[byte] = it == ids.end() ? -1 : it->second;
  }
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    const auto a = ids.find(left);
    const auto b = ids.find(right);
    const auto result = ids.find(left + right);
    if (a == ids.end() || b == ids.end() || result == ids.end()) {
      return wrong_vocabulary(unknown_merge(rank, left, right));
    }
    bpe.merges_[key(a->second, b->second)] = {static_cast<int32_t>(rank), result->second};
  }
  return bpe;
}

std::vector<int32_t> ByteLevelBpe::symbols_of(std::string_view piece) const {
  std::vector<int32_t> symbols;
  symbols.reserve(piece.size());
  bool after_unknown = false;
  for (const char c : piece) {
    const int32_t id = byte_tokens_[static_cast<unsigned char>(c)];
    const bool skipped = id < 0 && (unknown_ < 0 || (fuse_unknown_ && after_unknown));
    if (!skipped) symbols.push_back(id < 0 ? unknown_ : id);
    after_unknown = id < 0;
  }
  return symbols;
}

void ByteLevelBpe::encode(std::string_view piece, std::vector<int32_t>& out) const {
  if (!pieces_.empty()) {
    const auto it = pieces_.find(std::string(piece));
    if (it != pieces_.end()) return out.push_back(it->second);
  }
  std::vector<int32_t> symbols = symbols_of(piece);
  constexpr size_t short_piece = 32;  // for shorter ones scanning is faster than a heap
  if (symbols.size() <= short_piece) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
  out.insert(out.end(), symbols.begin(), symbols.end());
}

void ByteLevelBpe::merge_short(std::vector<int32_t>& symbols) const {
  while (symbols.size() > 1) {
    size_t best = none;
    Merge chosen;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto it = merges_.find(key(symbols[i], symbols[i + 1]));
      if (it == merges_.end() || (best != none && it->second.rank >= chosen.rank)) continue;
      best = i;
      chosen = it->second;
    }
    if (best == none) return;
    symbols[best] = chosen.result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

void ByteLevelBpe::merge_long(std::vector<int32_t>& symbols) const {
  std::vector<Symbol> list(symbols.size());
  for (size_t i = 0; i < list.size(); ++i) {
    list[i] = {symbols[i], i == 0 ? none : i - 1, i + 1 == list.size() ? none : i + 1};
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](size_t left) {
    if (left == none || list[left].next == none) return;
    const int32_t a = list[left].id;
    const int32_t b = list[list[left].next].id;
    const auto it = merges_.find(key(a, b));
    if (it != merges_.end()) queue.push({it->second.rank, left, a, b, it->second.result});
  };
  for (size_t i = 0; i + 1 < list.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = list[top.position];
    const bool stale = left.id != top.left || left.next == none || list[left.next].id != top.right;
    if (stale) continue;
    Symbol& right = list[left.next];
    left.id = top.result;
    right.id = merged_away;
    left.next = right.next;
    if (left.next != none) list[left.next].previous = top.position;
    offer(left.previous);
    offer(top.position);
  }
  symbols.clear();
  for (size_t i = 0; i != none; i = list[i].next) symbols.push_back(list[i].id);
}

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/text_gate.hpp"

#include <algorithm>
#include <utility>

#include "policy/text/unicode.hpp"

namespace warpsmith::commands {
namespace {

/// Bytes at the end of `text` that the rest of a marker may follow.
size_t begun_marker(std::string_view text, const std::string& marker) {
  for (size_t size = std::min(text.size(), marker.size() - 1); size > 0; --size) {
    if (text.ends_with(std::string_view(marker).substr(0, size))) return size;
  }
  return 0;
}

/// Bytes at the end of `text` that are the beginning of a character.
size_t begun_character(std::string_view text) {
  constexpr size_t longest = 4;
  for (size_t size = 1; size < longest && size <= text.size(); ++size) {
    const std::string_view tail = text.substr(text.size() - size);
    if ((static_cast<unsigned char>(tail.front()) & 0xC0U) == 0x80U) continue;
    const policy::Utf8Step step = policy::next_utf8(tail);
    return step.state == policy::Utf8State::incomplete ? size : 0;
  }
  return 0;
}

}  // namespace

std::string TextGate::add(std::string_view bytes) {
  held_ += bytes;
  if (found_) return {};
  size_t ready = held_.size() - begun_character(held_);
  for (const std::string& marker : markers_) {
    if (const size_t at = held_.find(marker); at != std::string::npos) {
      ready = found_ ? std::min(ready, at) : at;
      found_ = true;
    } else if (!found_) {
      ready = std::min(ready, held_.size() - begun_marker(held_, marker));
    }
  }
  std::string text = policy::to_valid_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string TextGate::flush() {
  return policy::to_valid_utf8(std::exchange(held_, {}));
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml_depth.hpp"

#include <algorithm>
#include <cctype>

namespace warpsmith {
namespace {

/// Scans a text for keys as far as it is TOML: the library reads nothing after its first error.
class KeyScan {
 public:
  explicit KeyScan(std::string_view text) : text_(text) {}

  std::optional<uint32_t> run() {
    while (at_ < text_.size()) {
      step();
      if (dots_ > most_dots_of_a_key) return line_of(at_);
    }
    return std::nullopt;
  }

 private:
  void step() {
    const char here = text_[at_];
    if (here == '#') return skip_to(text_.find('\n', at_));
    if (here == '"' || here == '\'') return skip_string(here);
    if (here == '.') {
      ++dots_;
    } else if (!continues_key(here)) {
      dots_ = 0;
    }
    ++at_;
  }

  static bool continues_key(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
           letter == '-' || letter == ' ' || letter == '\t';
  }

  void skip_string(char quote) {
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const bool lines = text_.substr(at_).starts_with(three);
    at_ += lines ? 3 : 1;
    while (at_ < text_.size() && !ends_string(quote, lines ? three : three.substr(0, 1))) {
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ += lines ? 3 : 1;
    // A string of several lines may end with two more quotes of its own.
    for (int i = 0; lines && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }
  bool ends_string(char quote, std::string_view end) const {
    return text_[at_] == quote && text_.substr(at_).starts_with(end);
  }

  void skip_to(size_t place) { at_ = std::min(place, text_.size()); }
  uint32_t line_of(size_t place) const {
    const auto before = text_.substr(0, place);
    return 1 + static_cast<uint32_t>(std::ranges::count(before, '\n'));
  }

  std::string_view text_;
  size_t at_ = 0;
  int dots_ = 0;
};

}  // namespace

std::optional<uint32_t> line_of_too_deep_key(std::string_view text) {
  return KeyScan{text}.run();
}

std::string too_deep_key_text() {
  return "a key with more than " + std::to_string(most_dots_of_a_key) + " dots";
}

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "runtime/text.hpp"

namespace warpsmith {
namespace {

/// Scans a text up to its first error, because the library reads nothing after that.
class TomlScan {
 public:
  explicit TomlScan(std::string_view text)
      : text_(text), at_(text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0) {}

  std::optional<TomlFault> run() {
    while (at_ < text_.size()) {
      if ((static_cast<unsigned char>(text_[at_]) & 0x80U) != 0) {
        return fault("a non-ASCII character outside quotes; put the key or the value in quotes");
      }
      step();
      if (dots_ > max_key_dots) {
        return fault(fmt::format("a key with more than {} dots", max_key_dots));
      }
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
    // The content of a multi-line string may itself end with up to two quotes.
    for (int i = 0; lines && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }
  bool ends_string(char quote, std::string_view end) const {
    return text_[at_] == quote && text_.substr(at_).starts_with(end);
  }

  void skip_to(size_t place) { at_ = std::min(place, text_.size()); }
  TomlFault fault(std::string text) const {
    const auto lines = std::ranges::count(text_.substr(0, at_), '\n');
    return {.line = 1 + static_cast<uint32_t>(lines), .text = std::move(text)};
  }

  std::string_view text_;
  size_t at_;
  int dots_ = 0;
};

}  // namespace

std::optional<TomlFault> toml_fault(std::string_view text) {
  return TomlScan{text}.run();
}

}  // namespace warpsmith

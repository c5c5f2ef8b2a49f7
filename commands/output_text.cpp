// SPDX-License-Identifier: Apache-2.0
#include "commands/output_text.hpp"

namespace warpsmith::commands {
namespace {

constexpr unsigned char lead_of_c1 = 0xC2;  // in UTF-8, before 0x80 to 0x9F

std::string hex_escape(unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
}

bool is_control(unsigned char byte) {
  return byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t');
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string out;
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool c1 = before == lead_of_c1 && byte >= 0x80 && byte < 0xA0;
    if (c1) out.pop_back();
    out += c1 || is_control(byte) ? hex_escape(byte) : std::string(1, c);
    before = byte;
  }
  return out;
}

std::string for_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/terminal_text.hpp"

namespace warpsmith::commands {
namespace {

constexpr unsigned char lead_of_c1 = 0xC2;  // in UTF-8, before 0x80 to 0x9F

std::string escaped(unsigned char byte) {
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
    out += c1 || is_control(byte) ? escaped(byte) : std::string(1, c);
    before = byte;
  }
  return out;
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "runtime/bytes.hpp"

#include <openssl/sha.h>

#include <array>

namespace warpsmith {
namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> digest_of(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

}  // namespace

std::string to_hex(std::span<const unsigned char> bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  return to_hex(digest_of(bytes));
}

uint64_t checksum64(std::string_view bytes) {
  const auto digest = digest_of(bytes);
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value = (value << 8U) | digest[i];
  return value;
}

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// Bounds-checked access to an untrusted ELF file.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith::sandbox {

class ElfImage {
 public:
  explicit ElfImage(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }

  /// Nothing if it lies outside the file.
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::optional<std::string_view> slice(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    return bytes_.substr(offset, size);
  }
  /// The text up to the next zero byte, at most 512 bytes; empty outside the file.
  std::string text_at(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    constexpr size_t longest = 512;
    const std::string_view rest = bytes_.substr(offset, longest);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  std::string_view bytes_;
};

}  // namespace warpsmith::sandbox

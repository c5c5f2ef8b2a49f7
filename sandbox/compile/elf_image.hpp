// SPDX-License-Identifier: Apache-2.0
// Checked access to the bytes of an ELF file that nobody vouches for.
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

  /// Nothing where it does not lie within the file.
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
  /// Up to the next zero, 512 bytes at most; empty outside.
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

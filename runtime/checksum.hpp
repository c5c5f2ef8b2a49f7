// SPDX-License-Identifier: Apache-2.0
// Content hashes (SHA-256), and short checksums for stored records: the first eight bytes of
// SHA-256, which are fast enough here and need no code of our own, as CRC-32C would.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warpsmith {

/// Two lower-case digits per byte.
std::string to_hex(std::span<const unsigned char> bytes);

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// The first eight bytes of SHA-256 as a big-endian number, the same on every machine.
uint64_t checksum64(std::string_view bytes);

}  // namespace warpsmith

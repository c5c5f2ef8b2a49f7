// SPDX-License-Identifier: Apache-2.0
// Bytes: the buffer that messages, files and sockets share, and hashes of it. The short checksum of
// stored records is the first eight bytes of SHA-256: fast enough, and OpenSSL has it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith {

/// Owned bytes, as a vector of char: the one sequence that CAF writes without a loop per element.
using ByteBuffer = std::vector<char>;

/// Two lower-case digits per byte.
std::string to_hex(std::span<const unsigned char> bytes);

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// The first eight bytes of SHA-256 as a big-endian number, the same on every machine.
uint64_t checksum64(std::string_view bytes);

}  // namespace warpsmith

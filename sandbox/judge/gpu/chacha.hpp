// SPDX-License-Identifier: Apache-2.0
// The random words of a GPU's input sets: ChaCha20 (RFC 8439) in counter mode, the same on a CPU
// and in a kernel. Without the key, inputs of different calls cannot be told apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sandbox/judge/element_types.hpp"

namespace warpsmith::sandbox {

struct ChachaKey {
  uint32_t words[8] = {};
};

/// Packs the 32 bytes into words, little-endian.
inline ChachaKey chacha_key(const std::array<uint8_t, 32>& bytes) {
  ChachaKey key;
  for (size_t i = 0; i < bytes.size(); ++i) key.words[i / 4] |= uint32_t{bytes[i]} << (8 * (i % 4));
  return key;
}

struct ChachaBlock {
  uint32_t words[16] = {};
};

WARPSMITH_HOST_DEVICE inline uint32_t rotated_left(uint32_t value, uint32_t bits) {
  return (value << bits) | (value >> (32U - bits));
}

WARPSMITH_HOST_DEVICE inline void quarter_round(uint32_t& a, uint32_t& b, uint32_t& c,
                                                uint32_t& d) {
  a += b, d = rotated_left(d ^ a, 16);
  c += d, b = rotated_left(b ^ c, 12);
  a += b, d = rotated_left(d ^ a, 8);
  c += d, b = rotated_left(b ^ c, 7);
}

WARPSMITH_HOST_DEVICE inline void double_round(uint32_t (&x)[16]) {
  quarter_round(x[0], x[4], x[8], x[12]);
  quarter_round(x[1], x[5], x[9], x[13]);
  quarter_round(x[2], x[6], x[10], x[14]);
  quarter_round(x[3], x[7], x[11], x[15]);
  quarter_round(x[0], x[5], x[10], x[15]);
  quarter_round(x[1], x[6], x[11], x[12]);
  quarter_round(x[2], x[7], x[8], x[13]);
  quarter_round(x[3], x[4], x[9], x[14]);
}

/// The block function. `counter` is words 12 and 13 of the state, `nonce` words 14 and 15 (the
/// first word of the RFC's nonce is the counter's upper half).
WARPSMITH_HOST_DEVICE inline ChachaBlock chacha_block(const ChachaKey& key, uint64_t counter,
                                                      uint64_t nonce) {
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32U); };
  const uint32_t* k = key.words;
  const uint32_t start[16] = {0x61707865,   0x3320646E,    0x79622D32, 0x6B206574, k[0], k[1],
                              k[2],         k[3],          k[4],       k[5],       k[6], k[7],
                              low(counter), high(counter), low(nonce), high(nonce)};
  ChachaBlock block;
  for (int i = 0; i < 16; ++i) block.words[i] = start[i];
  for (int round = 0; round < 10; ++round) double_round(block.words);
  for (int i = 0; i < 16; ++i) block.words[i] += start[i];
  return block;
}

/// A tensor uses several streams: one plane for each word of an element, and one for the places of
/// huge elements.
inline constexpr uint32_t most_planes = 3, huge_plane = most_planes;

/// The counter of a block of a plane of a tensor; the nonce is the number of the set. Streams never
/// overlap: requires plane < 2^8, tensor < 2^16 and block < 2^40.
WARPSMITH_HOST_DEVICE inline uint64_t stream_counter(uint32_t tensor, uint32_t plane,
                                                     uint64_t block) {
  return (uint64_t{tensor} << 48U) | (uint64_t{plane} << 40U) | block;
}

/// The 32 threads of a warp make 32 blocks with the words of 512 elements; consecutive threads
/// write consecutive groups of four.
inline constexpr uint64_t tile_elements = 512;

}  // namespace warpsmith::sandbox

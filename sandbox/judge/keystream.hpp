// SPDX-License-Identifier: Apache-2.0
// A keyed cryptographic stream: AES-256 in counter mode. Without the key, inputs of different calls
// cannot be told apart.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace warpsmith::sandbox {

using StreamKey = std::array<uint8_t, 32>;

/// The stream of (key, set, tensor): 2^32 blocks each. Streams of different pairs never overlap.
class Keystream {
 public:
  Keystream(const StreamKey& key, uint64_t set, uint32_t tensor);
  ~Keystream();
  Keystream(const Keystream&) = delete;
  Keystream& operator=(const Keystream&) = delete;

  void fill(std::span<std::byte> out);

 private:
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The random words of a GPU's inputs from another implementation: OpenSSL's ChaCha20.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>

#include "sandbox/judge/gpu/chacha.hpp"
#include "sandbox/judge/inputs.hpp"

namespace warpsmith::sandbox::test {

using Words = std::array<uint32_t, 16>;

inline Words openssl_block(const StreamKey& key, uint64_t counter, uint64_t nonce) {
  std::array<unsigned char, 16> start{};
  std::memcpy(start.data(), &counter, sizeof counter);
  std::memcpy(start.data() + 8, &nonce, sizeof nonce);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context{
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
  const std::array<unsigned char, 64> zeros{};
  Words words{};
  int written = 0;
  if (EVP_EncryptInit_ex(context.get(), EVP_chacha20(), nullptr, key.data(), start.data()) != 1 ||
      EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(words.data()), &written,
                        zeros.data(), static_cast<int>(zeros.size())) != 1) {
    throw std::runtime_error("OpenSSL offers no ChaCha20");
  }
  return words;
}

/// The place of an element's word in a plane.
struct WordPlace {
  uint64_t block = 0;
  uint32_t word = 0;
};

inline WordPlace place_of_word(uint64_t element) {
  const auto at = static_cast<uint32_t>(element % tile_elements);
  return {element / tile_elements * 32 + at % 128 / 4, at / 128 * 4 + at % 4};
}

/// The words of one plane of one tensor of one set, block by block.
class ReferenceStream {
 public:
  ReferenceStream(const StreamKey& key, uint64_t set, uint32_t tensor, uint32_t plane)
      : key_(key), set_(set), tensor_(tensor), plane_(plane) {}

  uint32_t word(uint64_t block, uint32_t index) {
    if (block != block_) {
      words_ = openssl_block(key_, stream_counter(tensor_, plane_, block), set_);
      block_ = block;
    }
    return words_.at(index);
  }
  uint32_t of_element(uint64_t element) {
    const WordPlace place = place_of_word(element);
    return word(place.block, place.word);
  }

 private:
  StreamKey key_;
  uint64_t set_;
  uint32_t tensor_, plane_;
  uint64_t block_ = ~uint64_t{0};
  Words words_{};
};

}  // namespace warpsmith::sandbox::test

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/keystream.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace warpsmith::sandbox {

struct Keystream::Cipher {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context{EVP_CIPHER_CTX_new(),
                                                                          EVP_CIPHER_CTX_free};
};

Keystream::Keystream(const StreamKey& key, uint64_t set, uint32_t tensor)
    : cipher_(std::make_unique<Cipher>()) {
  // Counter block: set (8 bytes), tensor (4), block number (4, big-endian, incremented by AES-CTR).
  std::array<uint8_t, 16> counter{};
  std::memcpy(counter.data(), &set, sizeof set);
  std::memcpy(counter.data() + 8, &tensor, sizeof tensor);
  if (!cipher_->context || EVP_EncryptInit_ex(cipher_->context.get(), EVP_aes_256_ctr(), nullptr,
                                              key.data(), counter.data()) != 1) {
    throw std::runtime_error("OpenSSL offers no AES-256-CTR");
  }
}

Keystream::~Keystream() = default;

void Keystream::fill(std::span<std::byte> out) {
  static constexpr std::array<unsigned char, 16384> zeros{};
  while (!out.empty()) {
    const size_t part = std::min(out.size(), zeros.size());
    int written = 0;
    const int ok =
        EVP_EncryptUpdate(cipher_->context.get(), reinterpret_cast<unsigned char*>(out.data()),
                          &written, zeros.data(), static_cast<int>(part));
    if (ok != 1 || static_cast<size_t>(written) != part) {
      throw std::runtime_error("AES-256-CTR stopped");
    }
    out = out.subspan(part);
  }
}

}  // namespace warpsmith::sandbox

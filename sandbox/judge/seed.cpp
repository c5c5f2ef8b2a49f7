// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/seed.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include <cstring>

#include "runtime/bytes.hpp"

namespace warpsmith::sandbox {

std::string SecretSeed::reveal() const {
  return fmt::format("{:016x}{}", seed, to_hex(salt));
}

std::array<uint8_t, 32> SecretSeed::key() const {
  const std::string text = "warpsmith inputs " + reveal();
  std::array<uint8_t, 32> out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

Result<SecretSeed> draw_seed() {
  std::array<uint8_t, 24> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::infrastructure, "getrandom gave no seed");
  }
  SecretSeed secret;
  std::memcpy(&secret.seed, bytes.data(), sizeof secret.seed);
  std::memcpy(secret.salt.data(), bytes.data() + sizeof secret.seed, secret.salt.size());
  return secret;
}

}  // namespace warpsmith::sandbox

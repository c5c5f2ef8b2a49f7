// SPDX-License-Identifier: Apache-2.0
// The secret of one evaluation: drawn after the submission is frozen, committed to, revealed later.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// A 64-bit seed, and a salt that keeps the commitment from being searched.
struct SecretSeed {
  uint64_t seed = 0;
  std::array<uint8_t, 16> salt{};

  /// Lower-case hexadecimal, for the evidence.
  std::string reveal() const;
  /// SHA-256 over the revealed text and the hash of the judged submission.
  std::string commitment(const std::string& submission_hash) const;
  /// The 32-byte key of the input generator.
  std::array<uint8_t, 32> key() const;
};

/// Uses the operating system's generator.
Result<SecretSeed> draw_seed();

}  // namespace warpsmith::sandbox

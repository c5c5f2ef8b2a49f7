// SPDX-License-Identifier: Apache-2.0
// The secret of one evaluation: drawn after the submission is frozen, revealed in the evidence.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// A 64-bit seed, and a salt that makes the two too many to be searched.
struct SecretSeed {
  uint64_t seed = 0;
  std::array<uint8_t, 16> salt{};

  /// Lower-case hexadecimal, for the evidence.
  std::string reveal() const;
  /// The 32-byte key of the input generator.
  std::array<uint8_t, 32> key() const;
};

/// Uses the operating system's generator.
Result<SecretSeed> draw_seed();

}  // namespace warpsmith::sandbox

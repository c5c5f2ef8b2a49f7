// SPDX-License-Identifier: Apache-2.0
// What betrays a candidate that writes less, more, or elsewhere than it should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/task.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

/// What cannot be right, 8 bytes to be repeated: signalling patterns of NaN for floats, extreme odd
/// values for integers, 0xA5 for booleans (neither 0 nor 1).
uint64_t poison_pattern(Dtype dtype);
/// Fills an output with it.
void poison(Dtype dtype, std::span<std::byte> output);

/// What every byte beside an output holds.
inline constexpr std::byte guard_value{0xC7};

/// Writes all of a set but its outputs: what is left out would carry notes from call to call.
void arm_guards(const SharedBuffers& outputs, uint32_t set);
/// False if a byte of it changed.
bool guards_intact(const SharedBuffers& outputs, uint32_t set);

/// A 64-bit content hash for "did this change": fast (one pass at memory speed), not cryptographic.
uint64_t content_hash(std::span<const std::byte> bytes);
/// Of every input and parameter of a set.
uint64_t inputs_hash(const SharedBuffers& inputs, uint32_t set);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Detects a candidate that writes less, more, or elsewhere than it should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/task.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

/// Eight bytes to repeat that no right output contains: NaN patterns for floats, extreme odd values
/// for integers, 0xA5 for booleans (neither 0 nor 1).
uint64_t poison_pattern(Dtype dtype);
/// Fills an output with its poison pattern.
void poison(Dtype dtype, std::span<std::byte> output);

/// The value of every byte next to an output.
inline constexpr std::byte guard_value{0xC7};

/// Fills all of a set except its outputs, so that no call can leave notes there for the next.
void arm_guards(const SharedBuffers& outputs, uint32_t set);
/// False if one of those bytes changed.
bool guards_intact(const SharedBuffers& outputs, uint32_t set);

/// A 64-bit hash to detect changes: fast (one pass at memory speed), not cryptographic.
uint64_t content_hash(std::span<const std::byte> bytes);
/// Hash of every input and parameter of a set.
uint64_t inputs_hash(const SharedBuffers& inputs, uint32_t set);

}  // namespace warpsmith::sandbox

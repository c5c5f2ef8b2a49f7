// SPDX-License-Identifier: Apache-2.0
// What a candidate's process is shown of a bench where work of its own may be resident on a device
// and poll: one set, which it alone maps. Inputs appear in it with the clock already running, and
// outputs are sampled the moment that it says `done`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/random_stream.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

/// One element of an output.
struct SamplePosition {
  uint64_t offset = 0;  // in bytes, from the start of a set of outputs
  uint32_t bytes = 0;   // 1, 2, 4 or 8
};

/// How many positions a call is sampled at.
inline constexpr size_t sampled_positions = 256;

/// So many; every output gets its share, anywhere in it. Empty outputs give none.
std::vector<SamplePosition> draw_positions(const TaskSignature& signature,
                                           const BufferLayout& layout, RandomStream& random);

/// Made by the bench whose sets it shows. On a GPU every member may throw cuda::DeviceError.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// What the candidate's process is handed: a layout of one set.
  virtual CandidateMemory memory() const = 0;

  /// Takes over the bench's poison and guards of `set`, and the positions to come. The candidate is
  /// stopped.
  virtual void arm(uint32_t set, std::span<const SamplePosition> positions) = 0;
  /// The inputs and parameters of the bench's `set` appear: all there on return, caches cold.
  virtual void reveal(uint32_t set) = 0;
  /// Reads the outputs at the positions.
  virtual void sample() = 0;
  /// Copies outputs and guards to the candidate's of the bench's `set`. False if a sampled position
  /// holds something else in the copy: the candidate was not done. The candidate is stopped.
  virtual bool take(uint32_t set) = 0;
};

}  // namespace warpsmith::sandbox

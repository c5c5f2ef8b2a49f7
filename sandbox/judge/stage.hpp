// SPDX-License-Identifier: Apache-2.0
// The part of a bench that a candidate's process sees where its work may stay on a device and poll:
// one set, mapped only there. Inputs appear in it while the clock already runs, and outputs are
// sampled at the moment of `done`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/random_stream.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

/// One element of an output.
struct SamplePosition {
  uint64_t offset = 0;  // bytes from the start of a set of outputs
  uint32_t bytes = 0;   // 1, 2, 4 or 8
};

/// The number of positions sampled in each call.
inline constexpr size_t sampled_positions = 256;

/// Draws `sampled_positions` positions, spread over all outputs that are not empty.
std::vector<SamplePosition> draw_positions(const TaskSignature& signature,
                                           const BufferLayout& layout, RandomStream& random);

/// Created by the bench whose sets it shows. On a GPU every member may throw cuda::DeviceError.
class CandidateStage {
 public:
  CandidateStage() = default;
  CandidateStage(const CandidateStage&) = delete;
  CandidateStage& operator=(const CandidateStage&) = delete;
  virtual ~CandidateStage() = default;

  /// The memory that the candidate's process receives: a layout of one set.
  virtual CandidateMemory memory() const = 0;

  /// Copies the bench's poison and guards of `set`, and sets the positions to sample. The candidate
  /// must be stopped.
  virtual void arm(uint32_t set, std::span<const SamplePosition> positions) = 0;
  /// Copies the inputs and parameters of the bench's `set`. They are complete on return; caches are
  /// cold.
  virtual void reveal(uint32_t set) = 0;
  /// Reads the outputs at the positions.
  virtual void sample() = 0;
  /// Copies outputs and guards to the candidate's of the bench's `set`. False if a sampled position
  /// differs in the copy: the candidate was not done. The candidate must be stopped.
  virtual bool take(uint32_t set) = 0;
};

}  // namespace warpsmith::sandbox

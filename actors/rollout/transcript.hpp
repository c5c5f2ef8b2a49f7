// SPDX-License-Identifier: Apache-2.0
// Pure: the tokens of one trajectory so far, and the segment that is being built.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "runtime/segment.hpp"

namespace warpsmith::actors {

/// Segment n contains turn n: sampled tokens, then the results (masked). Segment 0 begins with the
/// prompt.
class Transcript {
 public:
  /// Appends a prompt or tool results.
  void add_masked(std::span<const int32_t> tokens);
  /// Continues with only this prompt; earlier tokens remain in the segments that were taken.
  void begin_context(std::span<const int32_t> prompt);
  /// Appends sampled tokens; throws std::invalid_argument if the chunk's arrays differ in length.
  void add_sampled(const TokenChunk& chunk);
  /// The tokens sampled since the last masked token.
  std::span<const int32_t> turn() const;

  /// Ends the segment and returns it.
  Segment take_segment(TrajectoryId trajectory);
  bool has_open_segment() const { return !open_.tokens.empty(); }

  /// Continues from recorded segments; false if they are not 0, 1, … n − 1 of one trajectory.
  bool restore(std::span<const Segment> segments);

  const std::vector<int32_t>& tokens() const { return tokens_; }
  size_t sampled() const { return sampled_; }
  uint32_t segments() const { return next_number_; }

 private:
  std::vector<int32_t> tokens_;  // of the context, in order
  Segment open_;
  uint32_t next_number_ = 0;
  size_t sampled_ = 0;
  size_t turn_start_ = 0;  // index into tokens_
};

}  // namespace warpsmith::actors

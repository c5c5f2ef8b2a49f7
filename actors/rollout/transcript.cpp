// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/transcript.hpp"

#include <stdexcept>
#include <utility>

namespace warpsmith::actors {

void Transcript::add_masked(std::span<const int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  open_.tokens.insert(open_.tokens.end(), tokens.begin(), tokens.end());
  open_.action_mask.resize(open_.tokens.size(), 0);
  open_.log_probs.resize(open_.tokens.size(), 0.0F);
  open_.versions.resize(open_.tokens.size());
  turn_start_ = tokens_.size();
}

void Transcript::begin_context(std::span<const int32_t> prompt) {
  tokens_.clear();
  add_masked(prompt);
}

void Transcript::add_sampled(const TokenChunk& chunk) {
  const size_t n = chunk.tokens.size();
  if (chunk.log_probs.size() != n || chunk.versions.size() != n) {
    throw std::invalid_argument("token chunk: its three arrays differ in length");
  }
  tokens_.insert(tokens_.end(), chunk.tokens.begin(), chunk.tokens.end());
  open_.tokens.insert(open_.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
  open_.action_mask.resize(open_.tokens.size(), 1);
  open_.log_probs.insert(open_.log_probs.end(), chunk.log_probs.begin(), chunk.log_probs.end());
  open_.versions.insert(open_.versions.end(), chunk.versions.begin(), chunk.versions.end());
  sampled_ += n;
}

std::span<const int32_t> Transcript::turn() const {
  return std::span<const int32_t>(tokens_).subspan(turn_start_);
}

Segment Transcript::take_segment(TrajectoryId trajectory) {
  open_.trajectory = trajectory;
  open_.number = next_number_++;
  return std::exchange(open_, Segment{});
}

bool Transcript::restore(std::span<const Segment> segments) {
  for (const Segment& segment : segments) {
    if (segment.number != next_number_ || segment.trajectory != segments[0].trajectory ||
        !segment.validate() || segment.tokens.empty()) {
      return false;
    }
    if (begins_context(segment, segments[0])) tokens_.clear();
    ++next_number_;
    for (size_t i = 0; i < segment.size(); ++i) {
      tokens_.push_back(segment.tokens[i]);
      sampled_ += segment.action_mask[i];
      if (segment.action_mask[i] == 0) turn_start_ = tokens_.size();
    }
  }
  return true;
}

}  // namespace warpsmith::actors

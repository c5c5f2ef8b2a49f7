// SPDX-License-Identifier: Apache-2.0
// One turn of a trajectory: the tokens the model sampled, then those of the reply.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

using TrajectoryId = uint64_t;  // order of admission within the run, from 1

/// T tokens. `number` counts from 0 within the trajectory, so that appending a segment twice
/// changes nothing. Segment 0 begins with the prompt (masked), later ones with sampled tokens,
/// except one that begins a new context: see `begins_context`.
struct Segment {
  TrajectoryId trajectory = 0;
  uint32_t number = 0;
  std::vector<int32_t> tokens;          // (T)
  std::vector<uint8_t> action_mask;     // (T) 1 where the model sampled the token
  std::vector<float> log_probs;         // (T) policy::SampledToken::log_prob; 0 where masked
  std::vector<PolicyVersion> versions;  // (T) weights that sampled it; default where masked

  size_t size() const { return tokens.size(); }

  Result<void> validate() const {
    const size_t n = tokens.size();
    if (action_mask.size() == n && log_probs.size() == n && versions.size() == n) return {};
    return fail(ErrorCode::parse_failed, "segment: its four arrays have different lengths");
  }

  WARPSMITH_RECORD(trajectory, number, tokens, action_mask, log_probs, versions)
};

/// True if the model saw nothing before this segment, because a summary replaced all earlier turns:
/// the segment starts with a prompt again. `first`: segment 0 of the trajectory.
inline bool begins_context(const Segment& segment, const Segment& first) {
  return !segment.tokens.empty() && !first.tokens.empty() && segment.action_mask[0] == 0 &&
         segment.tokens[0] == first.tokens[0];
}

}  // namespace warpsmith

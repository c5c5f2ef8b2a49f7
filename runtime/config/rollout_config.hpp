// SPDX-License-Identifier: Apache-2.0
// [rollout]: the actors that run trajectories from the prompt to the verdict.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/reward_rule.hpp"

namespace warpsmith {

struct RolloutConfig {
  int64_t count = 1;        // actors
  int64_t concurrent = 16;  // trajectories at once, per actor
  RewardRule reward = RewardRule::milestone;
  // A trajectory that a limit ended without a submission gets the reward -1 minus this.
  double overlong_penalty = 0;
  int64_t infra_retries = 2;  // of one step after an infrastructure failure; then it is dropped
  std::chrono::milliseconds generate_timeout{std::chrono::minutes{10}};  // between two chunks
};

void describe(Fields& fields, RolloutConfig& c);
void validate(const RolloutConfig& c, Complaints& complaints);

}  // namespace warpsmith

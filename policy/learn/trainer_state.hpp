// SPDX-License-Identifier: Apache-2.0
// What training changes, and what a checkpoint holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/baselines.hpp"

namespace warpsmith::policy {

/// Updates that were left out because a number was not finite.
struct SkippedUpdates {
  int64_t in_a_row = 0;
  std::string last;  // the numbers of the newest one
};

struct TrainerState {
  ActorCritic networks;
  AdamW optimiser;                       // of `networks`, in the groups of parameter_groups.hpp
  std::optional<Transformer> reference;  // the policy of the KL term; only with loss.kl > 0
  WeightsMark mark;                      // identifies the weights of `networks`
  RestoredSteps restored;                // of this incarnation and those that led to it
  SkippedUpdates skipped;                // not part of a checkpoint
  PromptBaseline prompts;
  RunningScale scale;
};

}  // namespace warpsmith::policy

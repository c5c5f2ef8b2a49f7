// SPDX-License-Identifier: Apache-2.0
// What training changes. A checkpoint holds exactly this.
#pragma once

#include <optional>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/baselines.hpp"

namespace warpsmith::policy {

struct TrainerState {
  ActorCritic networks;
  AdamW optimiser;                       // of `networks`, in the groups of parameter_groups.hpp
  std::optional<Transformer> reference;  // the policy of the KL term; only with loss.kl > 0
  WeightsMark mark;                      // identifies the weights of `networks`
  RestoredSteps restored;                // of this incarnation and those that led to it
  PromptBaseline prompts;
  RunningScale scale;
};

}  // namespace warpsmith::policy

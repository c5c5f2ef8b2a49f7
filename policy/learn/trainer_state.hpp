// SPDX-License-Identifier: Apache-2.0
// What training changes, and what a checkpoint holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/learn/baselines.hpp"
#include "policy/learn/lora_origin.hpp"
#include "policy/learn/replicas.hpp"

namespace warpsmith::policy {

/// Updates that were left out because a number was not finite, or segments that were refused for
/// what they hold.
struct LeftOut {
  int64_t in_a_row = 0;
  std::string last;  // what was wrong with the newest one
};

struct TrainerState {
  const ActorCritic& networks() const { return ranks.first().networks; }

  Replicas ranks;
  WeightsMark mark;                // identifies the weights
  RestoredSteps restored;          // of this incarnation and those that led to it
  std::optional<LoraOrigin> lora;  // of the policy's adapters, if it has any
  LeftOut skipped;                 // updates; not part of a checkpoint
  LeftOut refused;                 // segments; not part of a checkpoint
  PromptBaseline prompts;
  RunningScale scale;
};

}  // namespace warpsmith::policy

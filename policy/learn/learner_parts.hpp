// SPDX-License-Identifier: Apache-2.0
// The parts of the learner's configuration that each of its pieces takes.
#pragma once

#include "policy/learn/adamw.hpp"
#include "policy/learn/advantage.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/step_cycle.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

PolicyLossConfig policy_loss_config(const LearnerConfig& config);
AdvantageConfig advantage_config(const LearnerConfig& config);
AdamWConfig adamw_config(const LearnerConfig& config);
StepBudget step_budget(const LearnerConfig& config);

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// The report of one optimiser step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "policy/learn/ratio_statistics.hpp"
#include "policy/learn/training_item.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::policy {

/// Statistics over the outcomes of a step's trajectories; means unless noted.
struct OutcomeStatistics {
  double reward_mean = 0;                   // before any penalty
  std::map<std::string, int64_t> verdicts;  // count of each
  double pass_rate = 0;
  double faster_eager = 0;    // share more than 5 % faster than eager
  double faster_compile = 0;  // share more than 5 % faster than torch.compile
  double truncated = 0;
  double turns_mean = 0;
  double tool_calls_mean = 0;
  double action_tokens_mean = 0;
};

struct StepReport {
  PolicyVersion version;  // of the weights after the step
  std::vector<TrajectoryId> trained;
  OutcomeStatistics outcomes;
  RatioStatistics tokens;  // of the last epoch
  double policy_loss = 0;  // of the last update, by the configured aggregation
  double value_loss = 0;
  double gradient_norm = 0;         // of the policy, largest over the step's updates
  double critic_gradient_norm = 0;  // likewise
  int64_t skipped_updates = 0;      // because a loss or a gradient was not finite
  int64_t updates = 0;
  double learning_rate = 0;
  double advantage_divisor = 1;
  int64_t forward_tokens = 0;  // tokens of all forward and backward passes, with prompts
  bool value_only = false;     // a step of value warm-up
  int64_t peak_bytes = 0;      // of tensors on the GPU since the step before; 0 on a CPU
};

OutcomeStatistics outcome_statistics(const std::deque<TrainingItem>& items);

/// A report as flat names and numbers for telemetry: "ratio_p99", "clip_age_2", "verdict.wrong".
std::map<std::string, double> numbers_of(const StepReport& report);

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// The stages of a chain other than online PPO: [sft], [collect], [rft] and [value].
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// [sft]: makes the first policy from demonstrations, by supervised learning. Stage `rft` optimises
/// by the same keys.
struct SftConfig {
  std::filesystem::path data;          // JSONL of conversations; if empty, `script` writes it
  std::filesystem::path script;        // Python, run as: script --tasks DIR... --seed N --out FILE
  std::vector<std::string> arguments;  // further ones of the script
  int64_t epochs = 1;
  int64_t batch_tokens = 8'192;   // per optimiser step, packed
  int64_t context = 2'048;        // longer conversations are left out and counted
  double learning_rate = 1e-3;    // the highest of the schedule
  double final_rate_share = 0.1;  // the lowest rate, at the end of the cosine, as a share of it
  int64_t warmup = 50;            // steps
  double weight_decay = 0.01;
  double held_out_share = 0.02;     // of the conversations, for the reported loss
  std::filesystem::path export_to;  // folder to copy the final model to; not copied if empty
};

void describe(Fields& fields, SftConfig& c);
void validate(const SftConfig& c, Complaints& complaints);

/// [collect]: samples trajectories and trains nothing.
struct CollectConfig {
  int64_t samples = 16;  // trajectories of each task in synthesis.tasks
  bool greedy = false;   // takes the likeliest token every time
};

void describe(Fields& fields, CollectConfig& c);

/// The effect of an invalid call, which breaks the syntax or the tool's schema.
enum class InvalidCalls : uint8_t {
  trajectory,  // the whole trajectory is rejected
  turn,        // its turn has no loss
};

/// [rft]: which collected trajectories rejection fine-tuning keeps.
struct RftConfig {
  std::vector<std::filesystem::path>
      runs;                  // run folders; in a chain by default those collected before
  int64_t per_task = 64;     // most trajectories of one task: those with the highest rewards
  int64_t stall_turns = 10;  // turns in a row without a better verdict that reject; 0: any number
  bool repeated_calls = false;  // keeps trajectories that repeat a call without an edit between
  InvalidCalls invalid_calls = InvalidCalls::trajectory;
};

void describe(Fields& fields, RftConfig& c);

/// [value]: pre-trains the critic on collected trajectories.
struct ValueConfig {
  std::vector<std::filesystem::path>
      runs;                      // run folders; in a chain by default those collected before
  double lambda = 1.0;           // of the GAE targets (gamma is 1); 1: the trajectory's reward
  int64_t epochs = 8;            // at most
  int64_t batch_tokens = 8'192;  // per optimiser step, prompts and results included
  double learning_rate = 3e-4;
  int64_t warmup = 10;          // steps over which the rate rises linearly
  double held_out_share = 0.1;  // of the trajectories, for the explained variance
  int64_t patience = 20;        // steps without a higher explained variance that end the stage
};

void describe(Fields& fields, ValueConfig& c);

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// [run]: what is run, and for how long.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

enum class Stage : uint8_t {
  sft,      // supervised fine-tuning on demonstrations
  agentic,  // multi-turn PPO in the full loop
};

enum class Mode : uint8_t {
  async,  // rollouts run ahead of the learner, up to learner.max_lag
  sync,   // a barrier after each step: staleness 0, for measuring what a barrier costs
};

struct RunSettings {
  int64_t seed = 0;  // required; every random stream derives from it
  std::string name;  // of the run folder; empty: made from the time and the configuration's name
  Stage stage = Stage::agentic;
  Mode mode = Mode::async;
  int64_t trajectories = 1024;  // admitted in all; the run ends when each is trained or dropped
  // Then it stops as by Ctrl-C. Of one start: a resume has all of it again.
  std::chrono::milliseconds time_limit{std::chrono::hours{24}};
  std::filesystem::path folder = "runs";  // run folders are made here
  int64_t threads = 0;                    // of the actor system; 0: one per core
};

void describe(Fields& fields, RunSettings& c);
void validate(const RunSettings& c, Complaints& complaints);

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// [run]: the kind of run and its length.
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
  sync,   // a barrier after each step: staleness 0, to measure the cost of a barrier
};

struct RunSettings {
  int64_t seed = 0;  // required; every random stream derives from it
  std::string name;  // of the run folder; if empty, made from the time and the configuration's name
  Stage stage = Stage::agentic;
  Mode mode = Mode::async;
  int64_t trajectories = 1024;  // admitted in all; the run ends when each is trained or dropped
  // After this time the run stops as after Ctrl-C. A resumed run gets the whole time again.
  std::chrono::milliseconds time_limit{std::chrono::hours{24}};
  std::filesystem::path folder = "runs";  // where run folders are made
  int64_t threads = 0;                    // of the actor system; 0: one per core
};

void describe(Fields& fields, RunSettings& c);
void validate(const RunSettings& c, Complaints& complaints);

}  // namespace warpsmith

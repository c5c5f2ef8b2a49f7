// SPDX-License-Identifier: Apache-2.0
// [run]: the kind of run and its length.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

enum class Stage : uint8_t {
  sft,      // supervised fine-tuning on demonstrations
  warmup,   // single-turn PPO: one answer that holds the whole solution, one verdict
  collect,  // samples trajectories; trains nothing
  rft,      // rejection fine-tuning: supervised, on the good ones of collected trajectories
  value,    // trains the critic alone, on collected trajectories
  agentic,  // multi-turn PPO in the full loop
};
std::string_view to_string(Stage stage) noexcept;
/// The stage of that name.
std::optional<Stage> stage_named(std::string_view name) noexcept;
/// True for stages that run trajectories: warmup, collect and agentic.
bool samples(Stage stage) noexcept;
/// True for stages that sample and train on what they sample: warmup and agentic.
bool learns_online(Stage stage) noexcept;

enum class Mode : uint8_t {
  async,  // rollouts run ahead of the learner, up to learner.max_lag
  sync,   // a barrier after each step: staleness 0, to measure the cost of a barrier
};

struct RunSettings {
  int64_t seed = 0;  // required; every random stream derives from it
  std::string name;  // of the run folder; if empty, made from the time and the configuration's name
  Stage stage = Stage::agentic;
  // A chain: the stages to run in order, each as a run of its own with the keys of [stage.NAME].
  // NAME is a kind of stage, or any name whose table sets run.stage. Empty: one run.
  std::vector<std::string> stages;
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

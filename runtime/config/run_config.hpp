// SPDX-License-Identifier: Apache-2.0
// The whole configuration of a run: one struct per component; read, checked and written together.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/brain_config.hpp"
#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/config/model_config.hpp"
#include "runtime/config/rollout_config.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/config/service_configs.hpp"
#include "runtime/config/stage_configs.hpp"
#include "runtime/config/synthesis_config.hpp"
#include "runtime/describe.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

enum class Stage : uint8_t {
  sft,      // supervised fine-tuning on demonstrations
  warmup,   // single-turn PPO: one answer with the whole solution, one verdict
  collect,  // samples trajectories; trains nothing
  rft,      // rejection fine-tuning: supervised, on the good ones of collected trajectories
  value,    // trains only the critic, on collected trajectories
  agentic,  // multi-turn PPO in the full loop
};
constexpr auto names_of(Stage) {
  return std::to_array<std::string_view>({"sft", "warmup", "collect", "rft", "value", "agentic"});
}
/// True for stages that run trajectories: warmup, collect and agentic.
bool samples(Stage stage) noexcept;
/// True for stages that sample and train on what they sample: warmup and agentic.
bool learns_online(Stage stage) noexcept;

enum class Mode : uint8_t {
  async,  // rollouts run ahead of the learner, up to learner.max_lag
  sync,   // a barrier after each step: staleness 0, to measure the cost of a barrier
};

/// [run]: the kind of run and its length.
struct RunSettings {
  int64_t seed = 0;  // required; every random stream derives from it
  std::string name;  // of the run folder; if empty, made from the time and the configuration's name
  Stage stage = Stage::agentic;
  // A chain: the stages to run in order, each as a separate run with the keys of [stage.NAME].
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

struct RunConfig {
  RunSettings run;
  ModelSource model;
  AgentConfig agent;
  BrainConfig brain;
  RolloutConfig rollout;
  GeneratorConfig generator;
  ToolExecutorConfig tool_executor;
  SandboxConfig sandbox;
  SynthesisConfig synthesis;
  LearnerConfig learner;
  SftConfig sft;
  CollectConfig collect;
  RftConfig rft;
  ValueConfig value;
  LedgerConfig ledger;
  TelemetryConfig telemetry;
  SupervisorConfig supervisor;
  NodeConfig node;
};

void describe(Fields& fields, RunConfig& c);

/// Checks the rules of each component, then those between components; of a chain (run.stages) only
/// the former, since each of its stages is checked as a whole.
void validate(const RunConfig& c, Complaints& complaints);

/// Reads and checks a text. A single `invalid_config` error lists every complaint with its place.
/// `overrides` are the arguments of --set: "learner.optimizer.learning_rate=1e-5". With `stage`,
/// the configuration of that stage of a chain: the keys of [stage.STAGE] replace the others.
Result<RunConfig> parse_run_config(const std::string& name, const std::string& text,
                                   const std::vector<std::string>& overrides,
                                   const std::string& stage = "");

/// The same for a file; `not_found` if there is no such file.
Result<RunConfig> load_run_config(const std::filesystem::path& file,
                                  const std::vector<std::string>& overrides,
                                  const std::string& stage = "");

/// The effective configuration: every key, with absolute paths. Parses back to the same values.
std::string to_toml(const RunConfig& config);

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// The whole configuration of a run: one struct per component; read, checked and written together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/agent_config.hpp"
#include "runtime/config/brain_config.hpp"
#include "runtime/config/collect_config.hpp"
#include "runtime/config/generator_config.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/config/ledger_config.hpp"
#include "runtime/config/model_source.hpp"
#include "runtime/config/node_config.hpp"
#include "runtime/config/rft_config.hpp"
#include "runtime/config/rollout_config.hpp"
#include "runtime/config/run_settings.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/config/sft_config.hpp"
#include "runtime/config/supervisor_config.hpp"
#include "runtime/config/synthesis_config.hpp"
#include "runtime/config/telemetry_config.hpp"
#include "runtime/config/tool_executor_config.hpp"
#include "runtime/config/value_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

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

/// Reads and checks a text. One `invalid_config` error lists every complaint with its place.
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

// SPDX-License-Identifier: Apache-2.0
#include "commands/train/resume_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "commands/train/stage_files.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using Keys = std::vector<std::string>;

/// True if `key` is one of `keys`, or in a table of them.
bool is_in(const std::string& key, const Keys& keys) {
  return std::ranges::any_of(
      keys, [&](const std::string& one) { return key == one || key.starts_with(one + '.'); });
}

/// The keys that a stage of this kind does not read.
Keys unread_keys(Stage kind) {
  if (learns_online(kind)) return {"sft", "rft", "value", "collect"};
  if (kind == Stage::collect) {
    return {"sft",
            "rft",
            "value",
            "run.trajectories",
            "learner.optimizer",
            "learner.loss",
            "learner.advantage",
            "learner.critic",
            "learner.warnings",
            "synthesis.curriculum",
            "synthesis.compose"};
  }
  Keys keys{"brain",     "rollout",    "tool_executor", "sandbox",          "collect",
            "telemetry", "supervisor", "node",          "run.trajectories", "run.mode"};
  const auto add = [&keys](const Keys& more) { keys.insert(keys.end(), more.begin(), more.end()); };
  if (kind == Stage::sft) add({"rft", "value", "generator"});
  if (kind == Stage::rft) add({"value", "generator", "synthesis", "sft.data", "sft.script"});
  if (kind == Stage::rft) add({"sft.arguments"});
  if (kind == Stage::value) add({"sft", "rft", "synthesis"});
  return keys;
}

std::string why_fixed_by_progress(const std::string& key, const ResumedStage& stage) {
  const bool selects = stage.kind == Stage::rft || stage.kind == Stage::value;
  if (stage.has_checkpoint && is_in(key, {"model.weights"})) {
    return "the weights come from the newest checkpoint";
  }
  if (stage.has_checkpoint && !selects && is_in(key, {"learner.critic.folder"})) {
    return "the critic comes from the newest checkpoint";
  }
  if (stage.has_checkpoint && selects && is_in(key, {"rft", "value.runs"})) {
    return "the stage learns from the trajectories that were selected when it began; start a new "
           "run for another selection";
  }
  if (stage.has_demonstrations && is_in(key, {"sft.script", "sft.arguments", "synthesis"})) {
    return "the demonstrations were written when the stage began; start a new run for others";
  }
  return "";
}

/// The key without "stage.NAME.", and the stages that it is set for.
struct Target {
  std::string key;
  std::vector<ResumedStage> stages;
};

Target target_of(const std::string& key, const std::vector<ResumedStage>& stages) {
  for (const ResumedStage& stage : stages) {
    const std::string prefix = "stage." + stage.name + '.';
    if (!stage.name.empty() && key.starts_with(prefix)) {
      return {key.substr(prefix.size()), {stage}};
    }
  }
  return {key, stages};
}

/// Empty if the key changes one of the stages; else the first reason.
std::string why_without_effect_on(const Target& target) {
  std::string first;
  for (const ResumedStage& stage : target.stages) {
    const std::string why = why_without_effect(target.key, stage);
    if (why.empty()) return "";
    // A reason of a stage that still runs says more than "stage sft is finished".
    if (first.empty() || !stage.finished) first = why;
  }
  return first;
}

std::vector<ResumedStage> stages_in(const fs::path& chain, const RunConfig& config) {
  std::vector<ResumedStage> stages;
  std::error_code ignored;
  for (size_t i = 0; i < config.run.stages.size(); ++i) {
    const std::string& name = config.run.stages[i];
    const StagePaths place = stage_paths(chain, i, name);
    const auto read = load_stage(place.config(), {}, name);
    if (!read) continue;  // the chain reports it
    ResumedStage stage = resumed_stage(place.run(), read->config.run.stage);
    stage.name = name;
    stage.finished = fs::exists(place.record(), ignored);
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace

ResumedStage resumed_stage(const fs::path& run, Stage kind) {
  ResumedStage stage{.name = "", .kind = kind};
  std::error_code ignored;
  const fs::path checkpoints = RunPaths{run}.checkpoints();
  stage.has_checkpoint =
      fs::is_directory(checkpoints, ignored) && !fs::is_empty(checkpoints, ignored);
  stage.has_demonstrations = fs::exists(run / "demonstrations.jsonl", ignored);
  return stage;
}

std::string why_without_effect(const std::string& key, const ResumedStage& stage) {
  if (is_in(key, {"run.folder", "run.name"})) return "the run stays in its folder";
  if (stage.name.empty() && key == "run.stages") return "the run has begun as a single stage";
  if (key == "run.stages") return "";
  if (stage.finished) return "stage " + stage.name + " is finished";
  if (is_in(key, unread_keys(stage.kind))) {
    const std::string kind{to_string(stage.kind)};
    return key == "run.trajectories" && stage.kind == Stage::collect
               ? "collect.samples sets how many trajectories stage collect samples"
               : "stage " + kind + " does not read it";
  }
  return why_fixed_by_progress(key, stage);
}

Result<void> refuse_without_effect(const std::vector<std::string>& overrides,
                                   const std::vector<ResumedStage>& stages) {
  for (const std::string& given : overrides) {
    const std::string key = given.substr(0, given.find('='));
    const std::string why = why_without_effect_on(target_of(key, stages));
    if (why.empty()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("--set {} has no effect on this resume: {}", key, why));
  }
  return {};
}

Result<void> check_resume_keys(const std::vector<std::string>& overrides, const fs::path& run,
                               const RunConfig& config) {
  if (!config.run.stages.empty() && is_chain({run})) {
    return refuse_without_effect(overrides, stages_in(run, config));
  }
  return refuse_without_effect(overrides, {resumed_stage(run, config.run.stage)});
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/brain_candidates.hpp"

#include <nlohmann/json.hpp>

#include "actors/brain/exchange_log.hpp"
#include "commands/eval/eval_tree.hpp"
#include "commands/eval/suite/suite_sampling.hpp"
#include "commands/optimize/found_folder.hpp"
#include "commands/option_rules.hpp"
#include "actors/run/run_session.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

/// The keys that `fit` sets, whatever --set says.
std::vector<FixedKey> keys_set_by(const BrainCall& call) {
  const char* const place = "the run is brain/ in the result folder";
  const char* const task = "the one task is OPERATOR";
  std::vector<FixedKey> fixed{{"run.folder", place},
                              {"run.name", place},
                              {"run.trajectories", "give --attempts"},
                              {"synthesis.tasks", task},
                              {"synthesis.held_out", task},
                              {"synthesis.curriculum", task},
                              {"synthesis.count", task},
                              {"synthesis.compose.nodes", task},
                              {"sandbox.numerics", "--numerics of the first call stands in for it"},
                              {"sandbox.count", "--slots of the first call stands in for it"},
                              {"sandbox.first_gpu", "--gpu of the first call stands in for it"}};
  if (!call.settings.contract.empty()) {
    fixed.push_back({"sandbox.contract", "--contract of the first call stands in for it"});
  }
  if (call.time) fixed.push_back({"run.time_limit", "--time stands in for it"});
  return fixed;
}

/// A time limit of the file is one for training, and it needs no tasks.
Result<std::vector<std::string>> overrides_of(const BrainCall& call) {
  if (auto taken = refuse_fixed_keys(call.overrides, keys_set_by(call)); !taken) {
    return tl::unexpected(taken.error());
  }
  const std::string task = json_text(nlohmann::json(call.settings.operator_file));
  std::vector<std::string> all{"run.time_limit=24h", "synthesis.tasks=[" + task + ']'};
  all.insert(all.end(), call.overrides.begin(), call.overrides.end());
  return all;
}

/// What the result folder fixes, whatever the configuration says.
void fit(RunConfig& config, const BrainCall& call) {
  const OptimizeSettings& s = call.settings;
  config.run.folder = call.folder.folder;
  config.run.name = call.folder.brain().filename();
  if (call.time) config.run.time_limit = *call.time;
  config.synthesis.tasks = {s.operator_file};
  config.synthesis.held_out.clear();
  config.synthesis.curriculum = {.quarantine_after = 0};
  config.synthesis.compose_nothing();
  if (!s.contract.empty()) config.sandbox.contract = s.contract;
  config.sandbox.numerics = s.numerics;
  config.sandbox.count = s.slots;
  config.sandbox.first_gpu = s.gpu;
}

Result<SuiteSampling> new_sampling(const BrainCall& call) {
  const auto overrides = overrides_of(call);
  if (!overrides) return tl::unexpected(overrides.error());
  auto config = load_run_config(call.settings.brain, *overrides);
  if (!config) return tl::unexpected(std::move(config.error()));
  fit(*config, call);
  const fs::path task = call.settings.operator_file;
  const auto found = synthesis::find_tasks({task});
  if (!found) return tl::unexpected(found.error());
  SuitePlan plan = plan_suite(task.parent_path(), *found,
                              call.trajectories.value_or(default_trajectories), *config);
  return SuiteSampling{std::move(*config), std::move(plan), std::nullopt, {}, SlotsOf::command};
}

Result<SuiteSampling> resumed_sampling(const BrainCall& call) {
  const RunPaths paths{call.folder.brain()};
  const auto overrides = overrides_of(call);
  if (!overrides) return tl::unexpected(overrides.error());
  auto config = config_of_run(paths.folder, *overrides);
  if (!config) return tl::unexpected(std::move(config.error()));
  fit(*config, call);
  auto plan = read_suite_plan(paths);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  if (call.trajectories) plan->samples = *call.trajectories;
  if (auto kept = write_file_durably(suite_file(paths), to_json(*plan)); !kept) {
    return tl::unexpected(kept.error());
  }
  return SuiteSampling{std::move(*config), std::move(*plan), paths, {}, SlotsOf::command};
}

size_t folders_in(const fs::path& folder) {
  std::error_code error;
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with('.')) ++count;
  }
  return count;
}

Result<std::string> summary_of(const BrainCall& call, const SuiteSampling& sampling) {
  const BrainConfig& brain = sampling.config.brain;
  const std::string name =
      brain.model.empty() ? sampling.config.model.folder.string() : brain.model;
  const auto usage = usage_of_run(call.folder.brain());
  if (!usage) return tl::unexpected(usage.error());
  const int64_t count = sampling.plan.samples;
  std::string out = std::to_string(count) + (count == 1 ? " trajectory" : " trajectories") +
                    " of " + name + ", " + std::to_string(folders_in(call.folder.found())) +
                    " with a submission";
  if (usage->requests > 0) out += "; " + usage_text(*usage);
  return out;
}

}  // namespace

Result<BrainEnd> ask_brain(const BrainCall& call) {
  const SignalWait signals;
  const RunPaths paths{call.folder.brain()};
  std::error_code error;
  const bool resumed = holds_run(paths) && fs::exists(suite_file(paths), error);
  if (!resumed) fs::remove_all(paths.folder, error);  // killed before anything was asked
  auto sampling = resumed ? resumed_sampling(call) : new_sampling(call);
  if (!sampling) return tl::unexpected(std::move(sampling.error()));
  FoundFolder found(call.folder.found());
  sampling->judged = [&found](TrajectoryId id, uint32_t turn, const EvaluateCall& judged,
                              const Verdict& verdict) { found.judged(id, turn, judged, verdict); };
  auto run = sample_suite(*sampling, [&](const std::shared_ptr<const RunInputs>& inputs) {
    return run_eval_tree(inputs, signals, /*quiet=*/false);
  });
  if (!run) return tl::unexpected(std::move(run.error()));
  if (const auto failure = found.failure()) return tl::unexpected(*failure);
  auto summary = summary_of(call, *sampling);
  if (!summary) return tl::unexpected(std::move(summary.error()));
  if (!run->loop.limit.empty()) *summary += "; " + run->loop.limit;
  return BrainEnd{std::move(run->loop), sampling->config.sandbox.contract, std::move(*summary)};
}

}  // namespace warpsmith::commands

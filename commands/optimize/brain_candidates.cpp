// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/brain_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "actors/brain/exchange_log.hpp"
#include "actors/rollout/outcome.hpp"
#include "actors/run/run_session.hpp"
#include "commands/eval/eval_run.hpp"
#include "commands/optimize/result_folder.hpp"
#include "commands/options.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

/// The keys that `apply_result_folder` sets; --set must not name them.
std::vector<FixedKey> keys_set_by(const BrainCall& call) {
  const char* const place = "the run is brain/ in the result folder";
  const char* const task = "the one task is OPERATOR";
  std::vector<FixedKey> fixed{{"run.folder", place},
                              {"run.name", place},
                              {"run.trajectories", "use --attempts instead"},
                              {"synthesis.tasks", task},
                              {"synthesis.held_out", task},
                              {"synthesis.curriculum", task},
                              {"synthesis.count", task},
                              {"synthesis.compose.nodes", task},
                              {"sandbox.numerics", "--numerics of the first call sets it"},
                              {"sandbox.count", "--slots of the first call sets it"},
                              {"sandbox.first_gpu", "--gpu of the first call sets it"}};
  if (!call.settings.contract.empty()) {
    fixed.push_back({"sandbox.contract", "--contract of the first call sets it"});
  }
  if (call.time) fixed.push_back({"run.time_limit", "--time sets it"});
  return fixed;
}

/// Replaces the time limit of the file, which is for training, and its tasks.
Result<std::vector<std::string>> overrides_of(const BrainCall& call) {
  TRY_VOID(refuse_fixed_keys(call.overrides, keys_set_by(call)));
  const std::string task = json_text(nlohmann::json(call.settings.operator_file));
  std::vector<std::string> all{"run.time_limit=24h", "synthesis.tasks=[" + task + ']'};
  all.insert(all.end(), call.overrides.begin(), call.overrides.end());
  return all;
}

/// Sets what the result folder determines, whatever the configuration says.
void apply_result_folder(RunConfig& config, const BrainCall& call) {
  const OptimizeSettings& s = call.settings;
  config.run.folder = call.folder.folder;
  config.run.name = call.folder.brain().filename();
  if (call.time) config.run.time_limit = *call.time;
  config.synthesis.tasks = {s.operator_file};
  config.synthesis.held_out.clear();
  config.synthesis.curriculum = {.quarantine_after = 0};
  config.synthesis.disable_composers();
  if (!s.contract.empty()) config.sandbox.contract = s.contract;
  config.sandbox.settings.numerics = enum_of<Numerics>(s.numerics).value();
  config.sandbox.count = s.slots;
  config.sandbox.first_gpu = s.gpu;
}

Result<SuiteSampling> new_sampling(const BrainCall& call) {
  TRY(const auto overrides, overrides_of(call));
  TRY(auto config, load_run_config(call.settings.brain, overrides));
  apply_result_folder(config, call);
  const fs::path task = call.settings.operator_file;
  TRY(const auto found, synthesis::find_tasks({task}));
  SuitePlan plan = plan_suite(task.parent_path(), found,
                              call.trajectories.value_or(default_trajectories), config);
  return SuiteSampling{std::move(config), std::move(plan), std::nullopt, {}, SlotsOf::command};
}

Result<SuiteSampling> resumed_sampling(const BrainCall& call) {
  const RunPaths paths{call.folder.brain()};
  TRY(const auto overrides, overrides_of(call));
  TRY(auto config, config_of_run(paths.folder, overrides));
  apply_result_folder(config, call);
  TRY(auto plan, read_suite_plan(paths));
  if (call.trajectories) plan.samples = *call.trajectories;
  TRY_VOID(write_file_durably(suite_file(paths), to_json(plan)));
  return SuiteSampling{std::move(config), std::move(plan), paths, {}, SlotsOf::command};
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
  TRY(const auto usage, usage_of_run(call.folder.brain()));
  const int64_t count = sampling.plan.samples;
  std::string out = fmt::format("{}{} of {}, {} with a submission", count,
                                count == 1 ? " trajectory" : " trajectories", name,
                                folders_in(call.folder.found()));
  if (usage.requests > 0) out += "; " + usage_text(usage);
  return out;
}

}  // namespace

Result<BrainEnd> ask_brain(const BrainCall& call) {
  const SignalWait signals;
  const RunPaths paths{call.folder.brain()};
  std::error_code error;
  const bool resumed = holds_run(paths) && fs::exists(suite_file(paths), error);
  if (!resumed) fs::remove_all(paths.folder, error);  // killed before the first request
  TRY(auto sampling, resumed ? resumed_sampling(call) : new_sampling(call));
  BestSubmissions best(call.folder.found());
  sampling.judged = [&best](TrajectoryId id, uint32_t turn, const sandbox::EvaluateRequest& judged,
                            const Verdict& verdict) { best.add(id, turn, judged, verdict); };
  TRY(auto run, sample_suite(sampling, signals, /*quiet=*/false));
  if (const auto failure = best.failure()) return tl::unexpected(*failure);
  TRY(auto summary, summary_of(call, sampling));
  if (!run.loop.limit.empty()) summary += "; " + run.loop.limit;
  return BrainEnd{std::move(run.loop), sampling.config.sandbox.contract, std::move(summary)};
}

std::string submission_name(TrajectoryId id, uint32_t turn) {
  return fmt::format("trajectory-{}-turn-{}", id, turn);
}

std::string origin_of(const std::string& name, const fs::path& run) {
  unsigned long long id = 0;
  unsigned turn = 0;
  // NOLINTNEXTLINE(cert-err34-c): the name is compared with the one that its numbers produce
  if (std::sscanf(name.c_str(), "trajectory-%llu-turn-%u", &id, &turn) != 2) return "";
  if (submission_name(id, turn) != name) return "";
  return fmt::format("trajectory {}, turn {} of {}", id, turn, run.string());
}

void BestSubmissions::add(TrajectoryId id, uint32_t turn, const sandbox::EvaluateRequest& call,
                          const Verdict& verdict) {
  if (!runs(call.want)) return;
  const std::scoped_lock lock(mutex_);
  const auto before = best_.find(id);
  const double rank = rank_of(verdict);
  if (before != best_.end() && call.submission.files == before->second.files) {
    before->second.rank = std::max(before->second.rank, rank);
    return;
  }
  if (before != best_.end() && rank < before->second.rank) return;
  const std::string name = submission_name(id, turn);
  if (auto kept = replace_folder(folder_ / name, call.submission.files); !kept) {
    if (!failure_) failure_ = kept.error();
    return;
  }
  std::error_code error;
  if (before != best_.end() && before->second.name != name) {
    fs::remove_all(folder_ / before->second.name, error);
  }
  best_[id] = {rank, name, call.submission.files};
}

std::optional<Error> BestSubmissions::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// `warpsmith eval CONFIG`: how good a policy is on tasks that it was not trained on.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/commands/command.hpp"
#include "actors/commands/engine_loop.hpp"
#include "actors/commands/stack.hpp"
#include "actors/run_session.hpp"
#include "actors/service_backend.hpp"
#include "actors/state/eval_summary.hpp"
#include "runtime/log.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string config, model;
  std::vector<std::string> overrides;
  int64_t samples = 16;
  bool greedy = false, training_tasks = false, json = false, quiet = false;
};

/// The configuration of an evaluation: the held-out tasks, each as often as asked, nothing learnt.
Result<RunConfig> eval_config(const EvalArguments& args) {
  auto config = load_run_config(args.config, args.overrides);
  if (!config) return config;
  if (!args.model.empty()) config->model.folder = args.model;
  if (!args.training_tasks) config->synthesis.tasks = config->synthesis.held_out;
  if (config->synthesis.tasks.empty()) {
    return fail(ErrorCode::invalid_config, args.config + ": synthesis.held_out names no tasks");
  }
  if (args.greedy) config->generator.temperature = 0;
  config->run.name.clear();
  config->run.time_limit = std::chrono::hours{24};
  return config;
}

std::vector<EvalSample> samples_of(const std::vector<TrajectoryRow>& rows) {
  std::vector<EvalSample> samples;
  for (const TrajectoryRow& row : rows) {
    if (!row.outcome) continue;
    const Outcome& o = *row.outcome;
    samples.push_back({row.task_id, o.reward, o.verdict == to_string(VerdictClass::passed),
                       o.speedup_eager, o.speedup_compile});
  }
  return samples;
}

nlohmann::json nullable(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json figures_json(const EvalFigures& f) {
  return {{"samples", f.samples},
          {"pass_rate", f.pass_rate},
          {"mean_reward", f.mean_reward},
          {"fast_eager", f.fast_eager},
          {"fast_compile", f.fast_compile},
          {"geomean_eager", nullable(f.geomean_eager)},
          {"geomean_compile", nullable(f.geomean_compile)}};
}

/// Median times of the correct final verdicts of each task, in milliseconds.
Result<nlohmann::json> times_by_task(RunDatabase& db, const std::vector<TrajectoryRow>& rows) {
  nlohmann::json out = nlohmann::json::object();
  for (const TrajectoryRow& row : rows) {
    const auto verdicts = verdict_rows(db, row.id);
    if (!verdicts) return tl::unexpected(verdicts.error());
    for (const VerdictRow& one : *verdicts) {
      if (!one.final || !one.verdict.correct() || one.verdict.shapes.empty()) continue;
      const ShapeResult& shape = one.verdict.shapes.front();
      out[row.task_id].push_back({{"candidate_ms", nullable(shape.candidate_ms)},
                                  {"eager_ms", nullable(shape.eager_ms)},
                                  {"compile_ms", nullable(shape.compile_ms)}});
    }
  }
  return out;
}

ExitCode print_result(const RunPaths& paths, const EvalArguments& args) {
  auto db = RunDatabase::open(paths.database(), SqlAccess::read_only);
  if (!db) return report(db.error());
  const auto rows = trajectory_rows(*db, 1, UINT64_MAX >> 1U);
  if (!rows) return report(rows.error());
  const EvalSummary summary = summarize_eval(samples_of(*rows), 1);
  auto times = times_by_task(*db, *rows);
  if (!times) return report(times.error());
  nlohmann::json out = figures_json(summary.all);
  out["tasks"] = summary.by_task.size();
  out["mean_reward_low"] = summary.mean_reward_low;
  out["mean_reward_high"] = summary.mean_reward_high;
  out["run"] = paths.folder.string();
  for (const auto& [task, figures] : summary.by_task) {
    out["by_task"][task] = figures_json(figures);
    out["by_task"][task]["times"] = times->value(task, nlohmann::json::array());
  }
  if (args.json) {
    std::cout << out.dump() << '\n';
    return ExitCode::success;
  }
  out.erase("by_task");
  std::cout << out.dump(2) << '\n';
  return ExitCode::success;
}

Result<std::shared_ptr<const EngineInputs>> inputs_of(RunConfig& config, const RunSession& session,
                                                      int64_t samples) {
  auto inputs = load_inputs(config, config.model.folder);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  inputs->learns = false;
  inputs->config.run.trajectories = samples * static_cast<int64_t>(inputs->tasks.size());
  config.run.trajectories = inputs->config.run.trajectories;
  inputs->ledger = session.ledger;
  inputs->checkpoints = session.checkpoints;
  inputs->origin = session.origin;
  inputs->scratch = session.folder.paths().folder / "scratch";
  return std::make_shared<const EngineInputs>(std::move(*inputs));
}

ExitCode evaluate(const EvalArguments& args) {
  const SignalWait signals;
  auto config = eval_config(args);
  if (!config) return report(config.error());
  if (auto capped = check_cgroups(config->sandbox); !capped) return report(capped.error());
  leave_slot_cores(config->sandbox);
  auto session = begin_run(*config, "eval", to_json(full_stack()));
  if (!session) return report(session.error());
  const RunPaths paths = session->folder.paths();
  log::start({log::Level::info, false, paths.log().string()});
  const auto inputs = inputs_of(*config, *session, args.samples);
  if (!inputs) return report(inputs.error());
  LoopResult loop;
  {
    EngineRun engine{*inputs, make_silent_tap()};
    LoopOptions options;
    options.trajectories = static_cast<uint64_t>(config->run.trajectories);
    options.quiet = args.quiet;
    loop = run_loop(engine, signals, options);
  }
  if (loop.end == LoopEnd::failed) return report({ErrorCode::infrastructure, loop.reason});
  return print_result(paths, args);
}

}  // namespace

Command eval_command() {
  return {
      "eval", "Measure a policy on held-out tasks", [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<EvalArguments>();
        app.add_option("config", args->config, "TOML file that names model and tasks")->required();
        app.add_option("--model", args->model, "Model folder instead of the configured one");
        app.add_option("--set", args->overrides, "Override one key; repeatable");
        app.add_option("--samples", args->samples, "Samples per task")
            ->capture_default_str()
            ->check(CLI::Range(1, 100'000));
        app.add_flag("--greedy", args->greedy, "The likeliest token every time");
        app.add_flag("--training-tasks", args->training_tasks,
                     "The training tasks instead of the held-out ones");
        app.add_flag("--json", args->json, "One JSON object on standard output");
        app.add_flag("--quiet", args->quiet, "No progress");
        return [args] { return evaluate(*args); };
      }};
}

}  // namespace warpsmith::actors

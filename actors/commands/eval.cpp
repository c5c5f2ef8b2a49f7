// SPDX-License-Identifier: Apache-2.0
// `warpsmith eval CONFIG`: how good a policy is on tasks that it was not trained on.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "actors/commands/command.hpp"
#include "actors/commands/engine_loop.hpp"
#include "actors/commands/eval_report.hpp"
#include "actors/commands/stack.hpp"
#include "actors/run_session.hpp"
#include "actors/service_backend.hpp"
#include "runtime/log.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string config, model, against;
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

ExitCode print_result(const RunPaths& paths, const EvalArguments& args,
                      const std::optional<RewardsByTask>& before) {
  const auto text = eval_report(paths, before, args.json);
  if (!text) return report(text.error());
  std::cout << *text << '\n';
  return ExitCode::success;
}

/// Read before anything is sampled: a wrong file is told at once.
Result<std::optional<RewardsByTask>> rewards_before(const EvalArguments& args) {
  if (args.against.empty()) return std::nullopt;
  auto rewards = read_eval_rewards(args.against);
  if (!rewards) return tl::unexpected(std::move(rewards.error()));
  return std::optional{std::move(*rewards)};
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
  const auto before = rewards_before(args);
  if (!before) return report(before.error());
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
  return print_result(paths, args, *before);
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
        app.add_option("--against", args->against,
                       "What `eval --json` printed of another policy: adds the difference of the "
                       "rewards and its paired bootstrap interval");
        app.add_flag("--json", args->json, "One JSON object on standard output");
        app.add_flag("--quiet", args->quiet, "No progress");
        return [args] { return evaluate(*args); };
      }};
}

}  // namespace warpsmith::actors

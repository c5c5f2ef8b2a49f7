// SPDX-License-Identifier: Apache-2.0
// `warpsmith train CONFIG` and `warpsmith train --resume RUN`: trains a policy.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/config_options.hpp"
#include "commands/option_rules.hpp"
#include "commands/train/chain_check.hpp"
#include "commands/train/chain_run.hpp"
#include "commands/train/dry_run.hpp"
#include "commands/train/stage_run.hpp"
#include "actors/run/resume_check.hpp"
#include "actors/run/run_session.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

struct TrainArguments {
  std::string config, resume;
  std::vector<std::string> overrides;
  bool dry_run = false;
  Output output;
};

/// A run whose tokens came from a brain cannot go on as one that learns online.
Result<void> unless_brain_run(const RunConfig& before, const RunConfig& config,
                              const std::string& run) {
  if (!has_brain(before.brain) || !learns_online(config.run.stage)) return {};
  return fail(ErrorCode::invalid_config,
              run +
                  ": a [brain] gave the tokens of this run, without the log-probabilities that "
                  "PPO needs: it cannot go on with run.stage = \"" +
                  std::string{to_string(config.run.stage)} +
                  "\"; resume it with \"collect\", or learn from it by \"rft\"");
}

/// What to do in place of another way to sample.
std::string sampling_remedy(Stage stage) {
  return stage == Stage::collect
             ? "collect into a new run"
             : "start a new run, whose model.folder can be a checkpoint of this one";
}

/// What an override must not change. The stages of a chain are checked one by one, as they are
/// read.
Result<RunConfig> unless_changed(RunConfig config, const std::string& run) {
  if (!config.run.stages.empty()) return config;
  const auto before = config_of_run(run, {});
  if (!before) return tl::unexpected(before.error());
  if (auto good = unless_brain_run(*before, config, run); !good) {
    return tl::unexpected(good.error());
  }
  auto same = check_sampling(run, config, sampling_remedy(before->run.stage));
  if (!same) return tl::unexpected(std::move(same.error()));
  return config;
}

/// Adds a hint if RUN is an evaluation: its configuration is seldom valid for training.
Result<RunConfig> resumed_config(const TrainArguments& args) {
  auto config = config_of_run(args.resume, args.overrides);
  const std::string name = RunPaths{std::filesystem::absolute(args.resume)}.folder.string();
  if (!config && name.find("-eval", name.rfind('/')) != std::string::npos) {
    config.error().message +=
        "\nby its name this is an evaluation, which `train` does not resume; that of a suite goes "
        "on "
        "with: ./warpsmith eval --resume " +
        args.resume;
  }
  if (config) return unless_changed(std::move(*config), args.resume);
  return config;
}

Result<RunConfig> load(const TrainArguments& args) {
  if (args.config.empty() == args.resume.empty()) {
    return fail(ErrorCode::invalid_argument, "train: expected either CONFIG or --resume RUN");
  }
  if (!args.resume.empty()) return resumed_config(args);
  return load_run_config(args.config, args.overrides);
}

/// The folder of `--resume`: a path, a name below the default root, or "latest".
Result<std::string> resumed_folder(const std::string& name) {
  std::error_code ignored;
  if (name.empty()) return name;
  if (std::filesystem::is_directory(name, ignored)) {
    if (holds_run({name})) return name;
    return fail(ErrorCode::not_found,
                name + ": not a run folder: it has neither config.toml nor run.db");
  }
  const auto found = find_run(RunConfig{}.run.folder, name);
  if (!found) return tl::unexpected(found.error());
  return found->folder.string();
}

ExitCode dry_run_chain(const RunConfig& config, const RunPlace& place,
                       const std::vector<std::string>& overrides) {
  const auto stages = stages_of(config, place, overrides);
  if (!stages) return report(stages.error());
  const auto printed =
      walk_ahead(*stages, place.resume,
                 [](const std::string& name, const RunConfig& stage, const Ahead& ahead) {
                   std::cout << "\nstage " << name << '\n';
                   return print_dry_run(stage, ahead);
                 });
  return printed ? ExitCode::success : report(printed.error());
}

ExitCode dry_run(const RunConfig& config, const RunPlace& place,
                 const std::vector<std::string>& overrides) {
  if (!config.run.stages.empty()) return dry_run_chain(config, place, overrides);
  const auto printed = print_dry_run(config, {.begun = place.resume});
  return printed ? ExitCode::success : report(printed.error());
}

ExitCode train(TrainArguments args) {
  auto folder = resumed_folder(args.resume);
  if (!folder) return report(folder.error());
  args.resume = std::move(*folder);
  const auto config = load(args);
  if (!config) return report(config.error());
  const RunPlace place{args.config, args.resume};
  if (args.dry_run) return dry_run(*config, place, args.overrides);
  if (config->run.stages.empty()) return run_stage(*config, place, args.output).code;
  return run_chain(*config, place, args.output, args.overrides);
}

}  // namespace

Command train_command() {
  return {
      "train", "Train a policy as CONFIG describes, in one run or a chain of stages, or resume it",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<TrainArguments>();
        app.add_option("CONFIG", args->config, "Configuration file (TOML)")->type_name("");
        app.add_option("--resume", args->resume,
                       "Resume a run from its last checkpoint: its folder, its name in runs/, or\n"
                       "\"latest\". run.time_limit starts anew")
            ->type_name("RUN");
        add_overrides(app, args->overrides);
        app.add_flag("--dry-run", args->dry_run,
                     "Check everything, print the actor tree and its memory, start nothing");
        app.add_flag("--quiet", args->output.quiet,
                     "Print no progress, only warnings and the result");
        app.add_flag("--json", args->output.json,
                     "Print the result as one JSON object on standard output");
        app.footer(
            "Examples:\n"
            "  warpsmith train configs/quickstart.toml\n"
            "  warpsmith train configs/quickstart.toml --set run.trajectories=256 --set "
            "run.seed=7\n"
            "  warpsmith train --resume latest\n"
            "  warpsmith train configs/paper-stages.toml\n"
            "  warpsmith train configs/paper-stages.toml --set stage.agentic.run.trajectories=256\n"
            "Ctrl-C stops cleanly: a checkpoint is written, and the run can be resumed. A second\n"
            "Ctrl-C ends at once.\n"
            "Exit codes: 0 done, or stopped with a checkpoint; 2 bad input; 3 infrastructure "
            "failure;\n"
            "130 ended by a second Ctrl-C.");
        return with_rules(app,
                          {{"--resume",
                            OptionRule::Kind::refuses,
                            {"CONFIG"},
                            "the run has a configuration; --set changes it"},
                           {"--dry-run",
                            OptionRule::Kind::refuses,
                            {"--json"},
                            "it starts nothing, so there is no result"}},
                          [args] { return train(*args); });
      }};
}

}  // namespace warpsmith::commands

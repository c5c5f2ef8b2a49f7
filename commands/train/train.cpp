// SPDX-License-Identifier: Apache-2.0
// `warpsmith train CONFIG` and `warpsmith train --resume RUN`: trains a policy. --dry-run prints
// what would run and the memory it would take.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "actors/run/memory_budget.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/run/run_session.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/command.hpp"
#include "commands/config/config.hpp"
#include "commands/options.hpp"
#include "commands/train/chain_run.hpp"
#include "commands/train/resume_keys.hpp"
#include "commands/train/stage_run.hpp"
#include "policy/format/hf_folder.hpp"
#include "runtime/run/run_listing.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

// --- --dry-run

/// The cores or GPUs of the slots.
std::string place_text(const SandboxConfig& c) {
  if (!uses_gpus(c)) return fmt::format("the first on core {}", core_of(c, 0));
  std::string gpus = fmt::format("on GPU {}", c.first_gpu);
  if (c.gpus > 1) gpus += fmt::format(" to {}", c.first_gpu + c.gpus - 1);
  return gpus + (c.count > c.gpus ? ", shared in turns" : "");
}

std::string learner_text(const LearnerConfig& c, const policy::LearnerMemory& plan) {
  const std::string all = size_text(plan.total());
  const std::string ranks = c.gpus > 1 ? fmt::format(" on each of {} ranks", c.gpus) : "";
  if (c.device == ComputeDevice::cpu) return all + ranks + " plus the trajectories it holds";
  const std::string gpus = c.gpus > 1
                               ? fmt::format(" of each of GPU {} to {}", c.gpu, c.gpu + c.gpus - 1)
                               : fmt::format(" of GPU {}", c.gpu);
  return all + gpus + " (parameters with their state " + size_text(plan.parameters) +
         ", published " + size_text(plan.published) + ", kept prefixes " + size_text(plan.kept) +
         ", activations " + size_text(plan.activations) + ")" +
         (plan.host > 0 ? " and " + size_text(plan.host) + " of pinned host memory" : "");
}

std::string brain_text(const BrainConfig& c) {
  if (!c.candidates.empty()) return "solutions of " + c.candidates.string();
  return fmt::format("{} at {}, {} requests at once", c.model, c.url, c.concurrency);
}

/// What writes candidates, unless rules do.
std::string writer_text(const SynthesisConfig& c) {
  if (c.compose.composer == ComposerKind::rules) return "";
  if (c.compose.url.empty()) return ", written by the policy";
  return ", written by " + c.compose.model + " at " + c.compose.url;
}

void print_tree(const RunConfig& c, const MemoryBudget& memory, size_t tasks) {
  std::vector<std::vector<std::string>> rows;
  const auto line = [&rows](const char* name, int64_t count, const std::string& about) {
    rows.push_back({fmt::format("  {}", name), fmt::format("x{}", count), about});
  };
  line("telemetry", 1, "figures of all other actors");
  line("weight_store", 1, size_text(memory.learner.published) + " per version");
  line("ledger", 1, "run database and segments, own thread");
  line("sandbox", c.sandbox.count, "contract " + c.sandbox.contract + ", " + place_text(c.sandbox));
  line("synthesis", 1, fmt::format("{} tasks", tasks));
  if (c.synthesis.composers() > 0) {
    const size_t away = c.synthesis.compose.nodes.size();
    line("composer", c.synthesis.composers(),
         fmt::format("of {} candidates for further tasks{}{}", c.synthesis.compose.candidates,
                     writer_text(c.synthesis),
                     away > 0 ? fmt::format(", {} on other nodes", away) : ""));
  }
  const bool learns = learns_online(c.run.stage);
  if (learns) {
    line("learner", 1,
         learner_text(c.learner, memory.learner) + ", own thread, " +
             (c.run.mode == Mode::sync ? "a barrier after each step" : "no barrier"));
  }
  const bool brain = has_brain(c.brain);
  const bool gpu = !brain && c.generator.device == ComputeDevice::cuda;
  if (brain) {
    line("brain", 1, brain_text(c.brain) + ", own thread");
  } else {
    line("generator", c.generator.count,
         size_text(memory.generator) +
             (gpu ? fmt::format(" each of GPU {}", c.generator.gpu) : " each") + ", own thread");
  }
  line("tool_executor", c.tool_executor.count, "own thread each");
  line("rollout", c.rollout.count, fmt::format("{} trajectories each", c.rollout.concurrent));
  const int64_t learner = learns ? memory.learner.host : 0;
  const bool learns_here = learns && c.learner.device != ComputeDevice::cuda;
  const int64_t total = learner + (learns_here ? memory.learner.total() * c.learner.gpus : 0) +
                        (gpu || brain ? 0 : memory.generator * c.generator.count);
  std::cout << "supervisor\n"
            << text_table("lll", rows) << "expected memory: " << size_text(total)
            << " of tensors, about 400 MiB of libraries, "
            << "and about 1 GiB per sandbox for its reference worker\n";
}

/// Prints what a stage that learns from given data takes.
void print_data_stage(const RunConfig& c, const policy::ModelConfig& model,
                      const policy::DataStageMemory& plan) {
  const bool gpu = c.learner.device == ComputeDevice::cuda;
  std::cout << (c.run.stage == Stage::value ? "value pre-training" : "supervised fine-tuning")
            << " of " << model.parameter_count()
            << " parameters, without actors\nexpected memory: " << size_text(plan.total())
            << (gpu ? fmt::format(" of GPU {}", c.learner.gpu) : " of tensors")
            << " (parameters with their state " << size_text(plan.parameters)
            << ", activations of the longest pack " << size_text(plan.activations) << ")";
  if (plan.host > 0) std::cout << ", " << size_text(plan.host) << " of pinned host memory";
  std::cout << (gpu ? "" : ", and about 400 MiB of libraries") << std::endl;
}

Result<void> print_data(const RunConfig& config) {
  TRY(const auto model, policy::read_hf_config(config.model.folder));
  print_data_stage(config, model, data_stage_memory(config, model));
  return {};
}

/// A plan needs no weights, which may not exist yet.
Result<void> print_sampling(RunConfig config) {
  if (!uses_gpus(config.sandbox)) {  // print_tree names a core
    TRY_VOID(check_slot_cores(config.sandbox));
  }
  config.model.weights = InitialWeights::random;
  TRY(const auto inputs, load_inputs(config, config.model.folder));
  const bool learns = learns_online(config.run.stage);
  print_tree(config, memory_budget(config, inputs.model, learns), inputs.tasks.size());
  std::cout << std::flush;
  return {};
}

/// Prints the actor tree or the stage of a run, with the memory that it is expected to take, then
/// fails as the run itself would before it makes a file. Starts nothing.
Result<void> print_dry_run(const RunConfig& config, const StageStart& start) {
  const auto printed = samples(config.run.stage) ? print_sampling(config) : print_data(config);
  // Checked last: the machine that reads a configuration is not always the one that runs it.
  if (!printed) return printed;
  TRY(const std::string notes, check_stage(config, start));
  std::cout << notes << std::flush;
  return {};
}

// --- the command

struct TrainArguments {
  std::string config, resume;
  std::vector<std::string> overrides;
  bool dry_run = false;
  Output output;
};

/// A run whose tokens came from a brain cannot continue as one that learns online.
Result<void> refuse_brain_run(const RunConfig& before, const RunConfig& config,
                              const std::string& run) {
  if (!has_brain(before.brain) || !learns_online(config.run.stage)) return {};
  return fail(ErrorCode::invalid_config,
              run +
                  ": a [brain] sampled this run, without recording the log-probabilities that "
                  "PPO needs: it cannot continue with run.stage = \"" +
                  std::string{to_string(config.run.stage)} +
                  "\"; resume it with \"collect\", or learn from it by \"rft\"");
}

/// What to do instead of changing how the run samples.
std::string sampling_remedy(Stage stage) {
  return stage == Stage::collect
             ? "collect into a new run"
             : "start a new run, whose model.folder can be a checkpoint of this one";
}

/// Refuses overrides that change how the run samples. The stages of a chain are checked one by one,
/// as they are read.
Result<RunConfig> refuse_changed_sampling(RunConfig config, const std::string& run) {
  if (!config.run.stages.empty()) return config;
  TRY(const auto before, config_of_run(run, {}));
  TRY_VOID(refuse_brain_run(before, config, run));
  TRY_VOID(check_sampling(run, config, sampling_remedy(before.run.stage)));
  return config;
}

/// Adds a hint if RUN is an evaluation: its configuration is seldom valid for training.
Result<RunConfig> resumed_config(const TrainArguments& args) {
  auto config = config_of_run(args.resume, args.overrides);
  const std::string name = RunPaths{std::filesystem::absolute(args.resume)}.folder.string();
  if (!config && name.find("-eval", name.rfind('/')) != std::string::npos) {
    config.error().message +=
        "\nby its name this is an evaluation, which `train` does not resume; resume that of a "
        "suite with: ./warpsmith eval --resume " +
        args.resume;
  }
  if (config) return refuse_changed_sampling(std::move(*config), args.resume);
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
  TRY(const auto found, find_run(RunConfig{}.run.folder, name));
  return found.folder.string();
}

ExitCode dry_run_chain(const RunConfig& config, const RunPlace& place,
                       const std::vector<std::string>& overrides) {
  const auto stages = stages_of(config, place, overrides);
  if (!stages) return report(stages.error());
  const auto printed = visit_unfinished_stages(
      *stages, place.resume,
      [](const std::string& name, const RunConfig& stage, const StageStart& start) {
        std::cout << "\nstage " << name << '\n';
        return print_dry_run(stage, start);
      });
  return printed ? ExitCode::success : report(printed.error());
}

ExitCode dry_run(const RunConfig& config, const RunPlace& place,
                 const std::vector<std::string>& overrides) {
  if (!config.run.stages.empty()) return dry_run_chain(config, place, overrides);
  const auto printed = print_dry_run(config, {.resumed_run = place.resume});
  return printed ? ExitCode::success : report(printed.error());
}

ExitCode train(TrainArguments args) {
  auto folder = resumed_folder(args.resume);
  if (!folder) return report(folder.error());
  args.resume = std::move(*folder);
  const auto config = load(args);
  if (!config) return report(config.error());
  if (!args.resume.empty()) {
    const auto effective = check_resume_keys(args.overrides, args.resume, *config);
    if (!effective) return report(effective.error());
  }
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
        app.add_option(
               "--resume", args->resume,
               "Resume a run or chain from its last checkpoint: its folder, its name in\n"
               "runs/, or \"latest\", the one that was started or resumed last. --set must\n"
               "change what is left to do. run.time_limit starts again")
            ->type_name("RUN");
        add_overrides(app, args->overrides);
        app.add_flag(
            "--dry-run", args->dry_run,
            "Check everything, print the actor tree and its memory, or how many conversations\n"
            "of sft.data are kept; start nothing");
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

// SPDX-License-Identifier: Apache-2.0
// `warpsmith eval CONFIG`: measures a policy on tasks that it was not trained on.
#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "actors/run/memory_budget.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/run/run_session.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/command.hpp"
#include "commands/config/config.hpp"
#include "commands/eval/eval_report.hpp"
#include "commands/eval/eval_run.hpp"
#include "commands/options.hpp"
#include "commands/output_text.hpp"
#include "commands/stack.hpp"
#include "runtime/log.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string config, model, against;
  std::string suite, resume, report;  // a suite's folder; runs
  std::string solutions;              // a folder of recorded ones
  std::vector<std::string> overrides;
  std::optional<int64_t> samples;
  bool greedy = false, training_tasks = false, json = false, quiet = false;
  bool mix_stacks = false;
};

/// One sample per task suffices if greedy: all would be the same.
int64_t samples_of(const EvalArguments& args) {
  return args.samples.value_or(args.greedy ? 1 : 16);
}

/// Limits for recorded answers, which are as long as their files.
constexpr std::array recorded_answers{"agent.answer=files", "agent.max_tokens=131072",
                                      "generator.max_new_tokens=65536",
                                      "generator.cache_tokens=131072"};

/// Replaces the model, and an endpoint that the file may name, by recorded solutions.
void use_solutions(RunConfig& config, const std::string& folder) {
  config.brain.url.clear();
  config.brain.candidates = fs::absolute(folder).lexically_normal();
}

/// The keys that an evaluation sets, whatever --set says.
std::vector<FixedKey> keys_set_by(const EvalArguments& args) {
  std::vector<FixedKey> fixed{{"run.name", "the run folder is named by its time"},
                              {"run.trajectories", "use --samples, per task, instead"},
                              {"synthesis.curriculum", "each task gets the same number of samples"},
                              {"synthesis.count", "an evaluation composes no tasks"},
                              {"synthesis.compose.nodes", "an evaluation composes no tasks"}};
  const char* const suite = "the tasks are those of --suite";
  if (!args.suite.empty()) {
    fixed.insert(fixed.end(), {{"synthesis.tasks", suite}, {"synthesis.held_out", suite}});
  } else if (args.training_tasks) {
    fixed.push_back({"synthesis.held_out", "--training-tasks evaluates synthesis.tasks"});
  } else {
    fixed.push_back({"synthesis.tasks",
                     "evaluated is synthesis.held_out; --training-tasks evaluates this one"});
  }
  if (!args.model.empty()) fixed.push_back({"model.folder", "--model replaces it"});
  if (args.greedy) fixed.push_back({"generator.temperature", "--greedy sets it to 0"});
  if (!args.solutions.empty()) {
    const char* const solutions = "--solutions judges recorded ones instead of an endpoint's";
    fixed.insert(fixed.end(), {{"brain.url", solutions}, {"brain.candidates", solutions}});
  }
  return fixed;
}

/// Replaces the turns of training by those of an evaluation, if the file has any.
Result<void> use_eval_turns(AgentConfig& agent, const EvalArguments& args) {
  if (agent.eval_turns == 0) return {};
  agent.max_turns = agent.eval_turns;
  return refuse_fixed_keys(args.overrides, {{"agent.max_turns", "use agent.eval_turns instead"}});
}

/// The configuration of an evaluation. Replaces the file's time limit, which is for training.
Result<RunConfig> eval_config(const EvalArguments& args) {
  TRY_VOID(refuse_fixed_keys(args.overrides, keys_set_by(args)));
  std::vector<std::string> overrides{"run.time_limit=24h"};
  if (!args.solutions.empty()) {
    overrides.insert(overrides.end(), recorded_answers.begin(), recorded_answers.end());
  }
  overrides.insert(overrides.end(), args.overrides.begin(), args.overrides.end());
  TRY(auto config, load_run_config(args.config, overrides));
  TRY_VOID(use_eval_turns(config.agent, args));
  if (!args.model.empty()) config.model.folder = args.model;
  if (!args.solutions.empty()) use_solutions(config, args.solutions);
  if (!args.training_tasks) config.synthesis.tasks = config.synthesis.held_out;
  if (args.suite.empty() && config.synthesis.tasks.empty()) {
    return fail(ErrorCode::invalid_config,
                args.config + ": synthesis.held_out is empty; expected tasks to evaluate");
  }
  if (args.greedy) config.generator.temperature = 0;
  config.synthesis.curriculum = {.quarantine_after = 0};  // equally many samples of each task
  config.synthesis.disable_composers();
  if (!args.suite.empty()) config.synthesis.insensitive = InsensitiveTasks::accept;
  config.run.name.clear();
  return config;
}

/// An evaluation that has ended.
struct EvalRun {
  RunPaths paths;
  LoopResult loop;
  uint64_t wanted = 0;     // samples
  uint64_t each_task = 0;  // samples of one
};

/// Reports samples and tasks that are missing, and returns the exit code.
ExitCode report_shortfall(const EvalRun& run, const EvalReport& made) {
  const uint64_t samples = made.samples;
  const bool stopped = run.loop.end == LoopEnd::stopped && run.loop.limit.empty();
  const uint64_t refused = run.loop.refused_tasks;
  if (samples == run.wanted && refused == 0) return ExitCode::success;
  std::cerr << (stopped ? "stopped: " : "incomplete: ") << samples << " of " << run.wanted
            << " samples, " << refused
            << " tasks refused; see the log: " << run.paths.log().string() << '\n';
  for (const auto& [task, why] : made.dropped) {
    std::cerr << "missing: " << for_terminal(task) << ": " << for_terminal(why) << '\n';
  }
  if (stopped) return ExitCode::interrupted;
  const bool only_refused = samples + refused * run.each_task == run.wanted;
  return only_refused ? ExitCode::bad_input : ExitCode::infrastructure;
}

ExitCode print_result(const EvalRun& run, const EvalArguments& args,
                      const std::optional<EvalOutcomes>& before) {
  const auto made = eval_report(run.paths, {run.wanted, run.loop.refused_tasks}, before, args.json);
  if (!made) return report(made.error());
  std::cout << made->text << '\n';
  return report_shortfall(run, *made);
}

/// Read before anything is sampled, so that a wrong file is reported at once.
Result<std::optional<EvalOutcomes>> outcomes_before(const EvalArguments& args) {
  if (args.against.empty()) return std::nullopt;
  TRY(auto outcomes, read_eval_outcomes(args.against));
  return std::optional{std::move(outcomes)};
}

/// Read before a run folder is made, so that bad input leaves nothing behind.
Result<RunInputs> inputs_of(const RunConfig& config, int64_t samples) {
  TRY(auto inputs, load_inputs(config, config.model.folder));
  const MemoryBudget budget = memory_budget(config, inputs.model, /*learns=*/false);
  TRY_VOID(check_gpus_here(config, budget));
  inputs.learns = false;
  plan_samples(inputs, samples, RunHistory{}, 0);
  return inputs;
}

ExitCode evaluate(const EvalArguments& args) {
  const SignalWait signals;
  auto config = eval_config(args);
  if (!config) return report(config.error());
  if (auto good = check_evaluable(*config); !good) return report(good.error());
  const auto before = outcomes_before(args);
  if (!before) return report(before.error());
  if (auto fits = check_slots(config->sandbox); !fits) return report(fits.error());
  leave_slot_cores(config->sandbox);
  auto inputs = inputs_of(*config, samples_of(args));
  if (!inputs) return report(inputs.error());
  auto session = begin_run(inputs->config, "eval", to_json(full_stack()));
  if (!session) return report(session.error());
  const RunPaths paths = session->folder.paths();
  log::start({log::Level::info, false, paths.log().string()});
  const auto kept = keep_text(paths, inputs->config.model.folder, inputs->frame);
  if (!kept) return report(kept.error());
  const auto whole = with_session(std::move(*inputs), *session);
  const EvalRun run{paths, run_eval_tree(whole, signals, args.quiet),
                    static_cast<uint64_t>(whole->config.run.trajectories),
                    static_cast<uint64_t>(samples_of(args))};
  session->folder.end_as(state_after(run.loop));
  if (run.loop.end == LoopEnd::failed) {
    // The samples judged before a brain failed were paid for, so they are reported.
    if (whole->end->asked()) (void)print_result(run, args, *before);
    return report({run.loop.error.code, paths.log().string() + ": " + run.loop.error.message});
  }
  return print_result(run, args, *before);
}

/// A suite: new, resumed or only reported.
ExitCode evaluate_tasks_of_suite(const EvalArguments& args) {
  const SuiteArguments suite{args.suite,       args.resume,     args.report, args.against,
                             samples_of(args), args.mix_stacks, args.json,   args.quiet};
  return evaluate_suite(suite, [&] { return eval_config(args); });
}

ExitCode evaluate_arguments(const EvalArguments& args) {
  const bool earlier = !args.resume.empty() || !args.report.empty();
  if (args.config.empty() && !earlier) {
    return report({ErrorCode::invalid_argument,
                   "eval: expected one of CONFIG, --resume RUN and --report RUN"});
  }
  if (earlier || !args.suite.empty()) return evaluate_tasks_of_suite(args);
  return evaluate(args);
}

std::vector<OptionRule> eval_rules() {
  using Kind = OptionRule::Kind;
  const std::vector<std::string> of_a_table{"--against", "--mix-stacks", "--json", "--quiet"};
  return {
      {"--report", Kind::takes, of_a_table, "it prints what the run contains and samples nothing"},
      {"--resume", Kind::takes, of_a_table,
       "the run continues with config.toml and suite.json in its folder; start a new "
       "evaluation for anything else"},
      {"--suite", Kind::refuses, {"--training-tasks"}, "the tasks are those of the suite"},
      {"--mix-stacks",
       Kind::needs,
       {"--suite", "--resume", "--report"},
       "an evaluation without a suite compares no stacks"},
      {"--mix-stacks", Kind::needs, {"--against", "--resume"}, "there is nothing to compare with"}};
}

void add_policy(CLI::App& app, EvalArguments& args) {
  app.add_option("CONFIG", args.config, "Configuration file (TOML) with the model and the tasks")
      ->type_name("");
  app.add_option("--model", args.model,
                 "Model folder in Hugging Face layout, instead of the configured one")
      ->type_name("FOLDER");
  add_overrides(app, args.overrides);
  app.add_option("--samples", args.samples, "Samples per task (default: 16; 1 with --greedy)")
      ->check(CLI::Range(1, 100'000));
  app.add_flag("--greedy", args.greedy, "Take the likeliest token every time");
  app.add_flag("--training-tasks", args.training_tasks,
               "Use the training tasks instead of the held-out ones");
  app.add_option("--against", args.against,
                 "Output of an earlier `eval --json`: adds the difference of mean rewards and pass "
                 "rates\n"
                 "and its paired bootstrap interval (95 %); with a suite: an earlier run")
      ->type_name("FILE|RUN");
}

void add_suite(CLI::App& app, EvalArguments& args) {
  app.add_option("--suite", args.suite,
                 "Evaluate every task below this folder, in levels by its sub-folders\n"
                 "(KernelBench's layout), and write a table: report.csv, .json, .html")
      ->type_name("DIR");
  app.add_option("--solutions", args.solutions,
                 "Judge recorded solutions instead of sampling: DIR/TASK/ holds the files of\n"
                 "one, DIR/TASK/1/, DIR/TASK/2/ … those of several. TASK is the name of the\n"
                 "task's file without .py, as the report shows it")
      ->type_name("DIR");
  app.add_option("--resume", args.resume,
                 "Take the samples that a killed evaluation of a suite lacks")
      ->type_name("RUN");
  app.add_option("--report", args.report,
                 "Print and write the table of an evaluated suite again; samples nothing")
      ->type_name("RUN");
  app.add_flag("--mix-stacks", args.mix_stacks,
               "With --suite, --resume or --report: compare or continue even if GPU,\n"
               "driver, torch, lane or numerics differ; the table names both");
}

const char* const eval_footer =
    "Examples:\n"
    "  warpsmith eval configs/quickstart.toml --greedy\n"
    "  warpsmith eval configs/quickstart.toml --model runs/RUN/checkpoints/step-35\n"
    "  warpsmith eval configs/suites/kernelbench.toml --suite KernelBench/KernelBench\n"
    "  warpsmith eval configs/quickstart.toml --suite configs/tasks/micro/reduction \\\n"
    "    --solutions configs/tasks/micro/kernels/cpu --samples 1\n"
    "  warpsmith eval --resume runs/RUN\n"
    "Exit codes: 0 all samples were judged; 2 bad input; 3 samples are missing, because they\n"
    "were dropped or run.time_limit (24 h unless --set) ended the evaluation; 130 stopped by\n"
    "Ctrl-C. If samples are missing, the figures cover the others and say how many. Refused\n"
    "tasks return 2; with a suite they are listed, left out of all figures, and return 0.\n"
    "--report always returns 0.";

}  // namespace

Command eval_command() {
  return {"eval", "Measure a policy on held-out tasks",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<EvalArguments>();
            add_policy(app, *args);
            add_suite(app, *args);
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.add_flag("--quiet", args->quiet, "Print no progress");
            app.footer(eval_footer);
            return with_rules(app, eval_rules(), [args] { return evaluate_arguments(*args); });
          }};
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// Evaluations as runs: the actors that sample, the sampling of what a suite lacks, and `--suite`,
// `--resume` and `--report`, which write the table of a suite.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/run/run_inputs.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/command.hpp"
#include "commands/eval/suite_plan.hpp"
#include "commands/run_loop.hpp"

namespace warpsmith::commands {
using namespace actors;

/// Runs the actors of an evaluation: those of a training run without the learner. Returns once all
/// trajectories of the inputs are finished, or a limit, a signal or a failure ends the run.
LoopResult run_eval_tree(const std::shared_ptr<const RunInputs>& inputs, const SignalWait& signals,
                         bool quiet);

/// What a suite is sampled with, before its run folder is open.
struct SuiteSampling {
  RunConfig config;
  SuitePlan plan;
  std::optional<RunPaths> resumed;  // none: a new run
  JudgedSubmission judged;          // is called for each verdict; may be empty
  SlotsOf slots_of = SlotsOf::configuration;
};

struct SuiteRun {
  RunPaths paths;
  LoopResult loop;
};

/// Opens the run folder, samples what the plan lacks and records the end; a later call can resume
/// in that folder. An error means that no sample was started.
Result<SuiteRun> sample_suite(const SuiteSampling& sampling, const SignalWait& signals, bool quiet);

struct SuiteArguments {
  std::string suite, resume, report;  // a folder and two runs; at least one is given
  std::string against;                // a run to compare with; empty: none
  int64_t samples = 1;
  bool mix_stacks = false, json = false, quiet = false;
};

/// Reads the configuration of a new evaluation; its tasks are those of the suite.
using LoadEvalConfig = std::function<Result<RunConfig>()>;

/// `eval --suite`, `--resume` and `--report`.
ExitCode evaluate_suite(const SuiteArguments& args, const LoadEvalConfig& load);

}  // namespace warpsmith::commands

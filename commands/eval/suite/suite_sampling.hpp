// SPDX-License-Identifier: Apache-2.0
// Samples what a suite's plan lacks, in a run folder that a later call can go on with.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "commands/eval/suite/suite_plan.hpp"
#include "commands/run_loop.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/sandbox/slot_cores.hpp"

namespace warpsmith::commands {
using namespace actors;

/// What an evaluation runs with, before its folder is open.
struct SuiteSampling {
  RunConfig config;
  SuitePlan plan;
  std::optional<RunPaths> resumed;  // none: a new run
  JudgedSubmission judged;          // hears of each verdict; may be empty
  SlotsOf slots_of = SlotsOf::configuration;
};

struct SuiteRun {
  RunPaths paths;
  LoopResult loop;
};

/// Runs the actors until the samples are judged.
using RunTreeUntilDone = std::function<LoopResult(const std::shared_ptr<const RunInputs>&)>;

/// Opens the run folder, samples and records the end. An error means that no sample was begun.
Result<SuiteRun> sample_suite(const SuiteSampling& prepared, const RunTreeUntilDone& run);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// The main thread's loop while a tree of actors runs: progress, time limit, Ctrl-C.
#pragma once

#include <chrono>

#include "actors/base/end_request.hpp"
#include "actors/run/run_tree.hpp"
#include "commands/signals.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {
using namespace actors;

enum class LoopEnd : uint8_t { finished, stopped, failed };

struct LoopOptions {
  uint64_t trajectories = 0;
  std::chrono::milliseconds interval{1'000};  // between progress lines
  std::chrono::milliseconds time_limit{0};    // after it nothing more is admitted; 0: none
  std::chrono::milliseconds window{30'000};   // over which the shown rates are taken
  bool quiet = false;
  bool trains = true;                          // there is a learner
  bool resumed = false;                        // the run has trajectories of an earlier start
  bool pause_on_warnings = false;              // an early warning stops the run
  std::shared_ptr<EndRequest> end;             // of the tree's inputs; may be empty
  std::chrono::milliseconds verdict{600'000};  // how long one may take; see EndRequest
};

/// How the run ended.
struct LoopResult {
  LoopEnd end = LoopEnd::finished;
  Error error;                 // set if it failed
  std::string limit;           // set if a limit of the brain stopped it
  bool time_is_up = false;     // the time limit came before all trajectories were started
  uint64_t refused_tasks = 0;  // by the ingest
};

/// The state to record for a run that ended so.
RunState state_after(const LoopResult& result);

LoopResult run_loop(RunTree& tree, const SignalWait& signals, const LoopOptions& options);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// Judges submissions on one slot: compile, verify, time, verdict.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/reference/baseline.hpp"

namespace warpsmith::sandbox {

struct EvaluatorOptions {
  std::string runner;         // path of warpsmith-sandbox
  std::string python;         // interpreter of the environment that holds torch
  std::string worker_folder;  // sandbox/reference/worker: its Python files
  std::string cache_folder;   // facts of tasks, compiled baselines, compiled candidates
  std::optional<int> core;    // the slot; empty: not pinned
  std::optional<int> gpu;     // the slot's GPU, as the driver numbers it; empty: a CPU slot
  uint64_t candidate_memory_bytes = 2ULL << 30U;
  uint64_t compile_cache_bytes = 512ULL << 20U;
  uint64_t source_bytes = 256ULL << 10U;  // largest submission
  uint64_t message_bytes = 64ULL << 10U;  // kept of the compiler's messages
  uint32_t compile_tasks = 64;            // processes and threads of one compilation
  std::chrono::milliseconds compile_timeout{20'000};
  std::chrono::milliseconds call_timeout{5'000};      // of one call of the candidate, at most
  std::chrono::milliseconds ingest_timeout{300'000};  // of one task, the worker being up
  bool require_cgroups = false;                       // else what is missing is recorded
  int verified_sets = 5;
  int timed_blocks = 8;           // least number of calls of the candidate and of each baseline
  std::vector<Baseline> further;  // timed too; the configuration asks for them on GPUs only
  Numerics numerics = Numerics::strict;
};

/// Owns the reference worker, the compilers and their cache of one slot. Calls come from one
/// thread, the one that lives longest (jails end with the thread that spawned them). Never throws
/// for what a task, a candidate or a child process does.
class Evaluator {
 public:
  static Result<Evaluator> open(EvaluatorOptions options);
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();

  /// A verdict, or a failure that is not the candidate's. Ingests the task first if need be.
  Judgement evaluate(const EvaluateRequest& request, Deadline deadline,
                     const Progress& progress = {});

  /// What is known about a task on this machine and stack; measured on first call, then from disk.
  /// A refused task: `invalid_argument`, with the reason.
  Result<TaskFacts> ingest(const Task& task, Deadline deadline, const Progress& progress = {});

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::sandbox

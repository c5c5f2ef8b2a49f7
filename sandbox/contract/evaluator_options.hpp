// SPDX-License-Identifier: Apache-2.0
// How an evaluator and its contracts are set up.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/verdict.hpp"
#include "sandbox/reference/baseline.hpp"

namespace warpsmith::sandbox {

struct EvaluatorOptions {
  std::string runner;         // path of warpsmith-sandbox
  std::string python;         // interpreter of the environment that holds torch
  std::string worker_folder;  // sandbox/reference/worker: its Python files
  std::string cache_folder;   // facts of tasks, compiled baselines, compiled candidates
  std::optional<int> core;    // the slot's; empty: not pinned
  // Where compilers run, while nothing is timed here; empty: where the calling thread runs.
  std::vector<int> compile_cores;
  std::optional<int> gpu;  // the slot's, as the driver numbers it; empty: a CPU slot
  uint64_t candidate_memory_bytes = 2ULL << 30U;
  uint64_t compile_cache_bytes = 512ULL << 20U;
  uint64_t source_bytes = 256ULL << 10U;  // largest submission
  uint64_t message_bytes = 64ULL << 10U;  // kept of the compiler's messages
  uint32_t compile_tasks = 64;            // processes and threads of one compilation
  std::chrono::milliseconds compile_timeout{20'000};
  std::chrono::milliseconds call_timeout{5'000};      // longest call of a candidate
  std::chrono::milliseconds ingest_timeout{300'000};  // of one task, once the worker is up
  bool require_cgroups = false;                       // else the verdict records what is missing
  int verified_sets = 5;
  int timed_blocks = 8;           // least number of calls of the candidate and of each baseline
  std::vector<Baseline> further;  // timed too; the configuration wants them on GPUs only
  Numerics numerics = Numerics::strict;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// One evaluation of a compiled candidate: verified sets, then interleaved timing.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/judge/verdict_of.hpp"
#include "sandbox/reference/ingest_record.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// Of the distribution that timed sets have, besides `verified_sets` of the others.
inline constexpr int verified_dense_sets = 1;

/// Everything that one evaluation works with; all of it outlives the call.
struct EvaluationJob {
  const Task& task;
  const IngestRecord& record;
  const Bench& bench;
  const std::string& artefact;  // bytes of the shared object
  const SecretSeed& seed;
  ReferenceWorker& worker;  // has loaded the task, and compiled it if `timed`
  std::string runner;       // path of warpsmith-sandbox
  std::optional<int> core;
  JailLimits limits;                              // of the candidate's process
  std::chrono::milliseconds call_timeout{5'000};  // of one of its calls, at most
  int verified_sets = 5;
  int timed_blocks = 8;
  bool timed = false;
};

/// What happened, for `decide` and for the evidence.
struct EvaluationOutcome {
  Measurements measured;
  std::map<std::string, double> phase_ms;
  std::map<std::string, std::string> jail;
  double candidate_noop_ms = 0, baseline_noop_ms = 0;
};

/// An error is a failure of ours (code `timeout` if the deadline passed); then the worker must be
/// replaced. What the candidate does wrong is part of the outcome.
Result<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox

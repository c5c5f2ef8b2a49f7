// SPDX-License-Identifier: Apache-2.0
// The results of a task's ingest on one machine and stack; kept on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/reference/baseline.hpp"

namespace warpsmith::sandbox {

/// How one input or parameter is filled.
struct InputRule {
  bool parameter = false;
  bool drawn = false;  // integer or boolean: the worker draws it
  Domain domain = Domain::free;
  double mean = 0, deviation = 0;  // only for a parameter
  bool non_negative = false;       // only for a parameter

  bool operator==(const InputRule&) const = default;

  WARPSMITH_RECORD(parameter, drawn, domain, mean, deviation, non_negative)
};

/// The results for one distribution. Errors are in units of the bound.
struct DistributionFacts {
  Distribution distribution = Distribution::normal;
  bool kept = false;        // honest evaluations are finite and well within the bound
  double eager_error = 0;   // with torch's own order of sums
  double honest_error = 0;  // the largest over all orders, including eager's
  double bf16_error = 0;    // with lower precision: above 1 the bound rejects it
  double tf32_error = 0;

  WARPSMITH_RECORD(distribution, kept, eager_error, honest_error, bf16_error, tf32_error)
};

/// The results for a further baseline.
struct BaselineFacts {
  Baseline which = Baseline::tuned;
  double seconds = 0;  // duration of its preparation
  double ms = 0;       // median; 0 if it was not timed
  std::string reason;  // why the task lacks it; otherwise empty

  WARPSMITH_RECORD(which, seconds, ms, reason)
};

struct IngestRecord {
  TaskFacts facts;
  std::vector<InputRule> rules;  // one per input and parameter, in the signature's order
  std::vector<DistributionFacts> distributions;
  std::vector<std::vector<float>> profiles;  // per output: S of dense sets, per block of elements
  std::vector<BaselineFacts> further;        // one for each wanted baseline
  uint64_t worker_bytes = 0;  // of a GPU that the reference worker needs besides the bench
  std::string refusal;        // why the task is refused or quarantined; otherwise empty
  // Only for numerics `paper`:
  std::string strict_refusal;  // why `strict` cannot judge the task; otherwise empty
  std::string weakness;        // the wrong answers that the tolerance accepts, with commas between

  WARPSMITH_RECORD(facts, rules, distributions, profiles, further, worker_bytes, refusal,
                   strict_refusal, weakness)
};

/// How much of a task is measured.
enum class IngestScope : uint8_t {
  whole,
  verified,  // only what verifying needs: no compiled baseline, no times, no profiles
};

/// What an ingest measures.
struct IngestOptions {
  IngestScope scope = IngestScope::whole;
  Numerics numerics = Numerics::strict;
  std::vector<Baseline> further;
};

/// Content hash of all that a record depends on.
std::string record_key(const Task& task, const std::string& machine, const std::string& stack,
                       const IngestOptions& options);

/// Rules for the sets of numerics `paper`: inputs get the mean and the deviation of the task's own,
/// as parameters do. Values that must lie in (0, 1) still do.
std::vector<InputRule> paper_rules(std::vector<InputRule> rules);

/// Empty if the record is missing or damaged.
std::optional<IngestRecord> read_record(const std::string& folder, const std::string& key);
/// Replaces the file atomically.
Result<void> write_record(const std::string& folder, const std::string& key,
                          const IngestRecord& record);

}  // namespace warpsmith::sandbox

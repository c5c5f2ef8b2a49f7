// SPDX-License-Identifier: Apache-2.0
// What ingest learnt about a task on one machine and stack; kept on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/judge/inputs.hpp"
#include "sandbox/reference/baseline.hpp"

namespace warpsmith::sandbox {

/// How one input or parameter is filled.
struct InputRule {
  bool parameter = false;
  bool drawn = false;  // integer or boolean: the worker gives it, an input drawn by get_inputs
  Domain domain = Domain::free;
  double mean = 0, deviation = 0;  // of a parameter
  bool non_negative = false;       // of a parameter

  template <class Archive>
  void serialize(Archive& archive) {
    archive(parameter, drawn, domain, mean, deviation, non_negative);
  }
};

/// How one distribution fared. Errors are in units of the bound.
struct DistributionFacts {
  Distribution distribution = Distribution::normal;
  bool kept = false;        // honest evaluations are finite and well within the bound
  double eager_error = 0;   // torch's own order of sums
  double honest_error = 0;  // the largest of all orders, eager's among them
  double bf16_error = 0;    // of the lower precisions: above 1 is told apart
  double tf32_error = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(distribution, kept, eager_error, honest_error, bf16_error, tf32_error);
  }
};

/// What ingest found of a further baseline.
struct BaselineFacts {
  Baseline which = Baseline::tuned;
  double seconds = 0;  // that making it ready took
  double ms = 0;       // median; 0 if it was not timed
  std::string reason;  // why the task lacks it; else empty

  template <class Archive>
  void serialize(Archive& archive) {
    archive(which, seconds, ms, reason);
  }
};

struct IngestRecord {
  TaskFacts facts;
  std::vector<InputRule> rules;  // one per input and parameter, in the signature's order
  std::vector<DistributionFacts> distributions;
  std::vector<std::vector<float>> profiles;  // per output: S of dense sets, per block of elements
  std::vector<BaselineFacts> further;        // each that was wanted
  std::string refusal;  // not empty: the task is refused or quarantined, and why

  template <class Archive>
  void serialize(Archive& archive) {
    archive(facts, rules, distributions, profiles, further, refusal);
  }
};

/// How much of a task is measured.
enum class IngestScope : uint8_t {
  whole,
  verified,  // what verifying needs: no compiled baseline, no times, no profiles
};

/// Content hash of the task, machine, stack, scope and wanted further baselines: who may share a
/// record.
std::string record_key(const Task& task, const std::string& machine, const std::string& stack,
                       IngestScope scope, const std::vector<Baseline>& further);

/// Nothing if there is none or it is damaged.
std::optional<IngestRecord> read_record(const std::string& folder, const std::string& key);
/// Replaces atomically.
Result<void> write_record(const std::string& folder, const std::string& key,
                          const IngestRecord& record);

}  // namespace warpsmith::sandbox

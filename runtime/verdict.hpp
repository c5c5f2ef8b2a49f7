// SPDX-License-Identifier: Apache-2.0
// The verdict on a kernel, and the failures of the system, which never become a verdict.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/describe.hpp"

namespace warpsmith {

enum class VerdictClass : uint8_t {
  passed,
  wrong,      // an output misses the bound
  nonfinite,  // an output is NaN or infinite where the reference is not
  compile_error,
  banned_construct,  // the artefact contains something that the contract forbids
  launch_error,      // the artefact does not load, or has no entry point
  device_fault,      // a signal ended the candidate's process
  timeout,
  out_of_memory,
  oob_write,  // a guard zone changed
  input_mutated,
  too_fast,         // below the floor that the machine sets: impossible
  unstable_timing,  // after a retry infra_noise, unless the candidate itself causes it
};
constexpr auto names_of(VerdictClass) {
  return std::to_array<std::string_view>({"passed", "wrong", "nonfinite", "compile_error",
                                          "banned_construct", "launch_error", "device_fault",
                                          "timeout", "out_of_memory", "oob_write", "input_mutated",
                                          "too_fast", "unstable_timing"});
}

/// A failure of the system. The trajectory is retried, or dropped with this reason.
enum class InfraKind : uint8_t {
  sandbox_lost,      // the sandbox process or actor ended
  reference_failed,  // the reference worker ended or gave an invalid answer
  jail_unavailable,  // the machine lacks a primitive that the trust class needs
  noise,             // timing stayed unstable
  deadline,          // exceeded by the system, not by the candidate
  disk,
  task_refused,  // ingest refused the task; the detail says why
};
constexpr auto names_of(InfraKind) {
  return std::to_array<std::string_view>({"infra_sandbox_lost", "infra_reference_failed",
                                          "infra_jail_unavailable", "infra_noise", "infra_deadline",
                                          "infra_disk", "infra_task_refused"});
}

struct InfraFailure {
  InfraKind kind = InfraKind::sandbox_lost;
  std::string detail;

  WARPSMITH_RECORD(kind, detail)
};

/// How close an output must be to the reference.
enum class Numerics : uint8_t {
  strict,  // a bound that follows the rounding errors of each element
  paper,   // |y − ŷ| ≤ 1e-2 + 1e-2 |ŷ| on 5 input sets: for comparison with published numbers
};
constexpr auto names_of(Numerics) {
  return std::to_array<std::string_view>({"strict", "paper"});
}

/// How far the verdict can be trusted, given the contract, the jail in force and the numerics.
enum class TrustClass : uint8_t {
  device,
  commit,
  lowered,
  paper,  // in any jail: numerics `paper` pass kernels that `strict` would not
};
constexpr auto names_of(TrustClass) {
  return std::to_array<std::string_view>({"device", "commit", "lowered", "paper"});
}

/// A 95 % interval of a ratio.
struct Interval {
  double low = 0;
  double high = 0;
  static constexpr bool json_as_array = true;

  WARPSMITH_RECORD(low, high)
};

/// A baseline in addition to eager and torch.compile. No reward depends on it.
struct FurtherResult {
  std::string name;    // "max-autotune", "cuda-graph"
  std::string reason;  // why it was not measured; empty if it was
  std::optional<double> ms, speedup;
  std::optional<Interval> speedup_interval;

  WARPSMITH_RECORD(name, reason, ms, speedup, speedup_interval)
};

/// The results of one shape of the task; empty where nothing was measured. Times are medians.
struct ShapeResult {
  std::string shape;
  std::optional<double> candidate_ms, eager_ms, compile_ms;
  std::optional<double> speedup_eager, speedup_compile;  // t_baseline / t_candidate
  std::optional<Interval> speedup_eager_interval, speedup_compile_interval;  // paired bootstrap
  std::optional<double> worst_error;  // error / bound; > 1 is wrong
  std::optional<double> gbytes_per_s, gflops_per_s;
  std::optional<double> roofline_ms;
  std::vector<FurtherResult> further;  // the further baselines that were requested, if timed
  // Sizes that the author of the kernel was not shown: they are verified, but not timed, and count
  // for no speed-up.
  bool hidden = false;

  WARPSMITH_RECORD(shape, candidate_ms, eager_ms, compile_ms, speedup_eager, speedup_compile,
                   speedup_eager_interval, speedup_compile_interval, worst_error, gbytes_per_s,
                   gflops_per_s, roofline_ms, further, hidden)
};

/// The result under numerics `strict` of a kernel that passed numerics `paper`.
struct StrictResult {
  bool passed = false;
  std::string why;  // why it did not pass, or could not be judged

  WARPSMITH_RECORD(passed, why)
};

struct Verdict {
  VerdictClass outcome = VerdictClass::wrong;
  std::string contract;  // "cpu", "device", "host"
  TrustClass trust = TrustClass::lowered;
  std::string submission_hash;
  std::vector<ShapeResult> shapes;
  std::string feedback;                     // for the agent: statistics, never expected values
  std::map<std::string, std::string> jail;  // primitive → what is in force
  std::map<std::string, double> phase_ms;   // "compile", "verify", "timing", …
  std::optional<double> device_held_ms;     // how long the evaluation had exclusive use of the GPU
  JsonText evidence;                        // seed, raw samples, clocks, bounds
  std::optional<StrictResult> strict;       // only for a pass by numerics `paper`
  std::string weakness;  // of a pass: wrong answers that its numerics accept for this task

  bool correct() const { return outcome == VerdictClass::passed; }
  /// True if a pass proves enough for a reward. By `strict` it always does: whether a policy trains
  /// on a task that cannot tell some wrong answers is decided before (synthesis.insensitive).
  bool is_rewarded() const {
    return correct() &&
           (trust != TrustClass::paper || weakness.empty() || (strict && strict->passed));
  }

  WARPSMITH_RECORD(outcome, contract, trust, submission_hash, shapes, feedback, jail, phase_ms,
                   device_held_ms, evidence, strict, weakness)
};

/// A speed-up s = t0 / t counts as faster when 1 − 1/s > 0.05: at least that much less time.
constexpr bool clearly_faster(double speedup) {
  return speedup > 1 / 0.95;
}

/// The result of judging: a verdict, or a failure that is not the candidate's.
using Judgement = std::variant<Verdict, InfraFailure>;

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// Measures the accuracy of the sequential commit's times: no-ops, a known loop, repeated verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands/bench/kernel_sources.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/clock.hpp"
#include "sandbox/bench/self_check.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {
using namespace actors;

using BenchProgress = std::function<void(const std::string&)>;

/// Compiles the self-check's kernel and measures it in `processes` fresh processes. Call it from
/// the program's main thread.
Result<std::vector<sandbox::SelfCheck>> measure_commit(const sandbox::SandboxOptions& options,
                                                       int64_t processes, Deadline deadline);

/// The speed-up over eager that one complete evaluation measured.
struct SpeedupSample {
  Interval interval;  // 95 %
  std::string evidence;
};

/// Two evaluations of one kernel.
struct VerdictPair {
  SpeedupSample first, second;

  bool overlaps() const {
    return first.interval.low <= second.interval.high && second.interval.low <= first.interval.high;
  }
};

/// Evaluates one kernel twice per pair. Fails at a verdict without times, with its feedback.
Result<std::vector<VerdictPair>> measure_pairs(SandboxBackend& backend, const Task& task,
                                               const std::string& source, int64_t pairs,
                                               const BenchProgress& progress);

}  // namespace warpsmith::commands

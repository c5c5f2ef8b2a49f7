// SPDX-License-Identifier: Apache-2.0
// How honest the sequential commit's times are: no-ops, a loop of known length, repeated verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/commands/bench/kernel_sources.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/clock.hpp"
#include "sandbox/bench/self_check.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

using BenchProgress = std::function<void(const std::string&)>;

/// Compiles the check's kernel, then measures `processes` fresh contestants. Call it from the
/// program's main thread.
Result<std::vector<sandbox::SelfCheck>> measure_commit(const sandbox::SandboxOptions& options,
                                                       int64_t processes, Deadline deadline);

/// Speed-up against eager as a complete evaluation saw it.
struct Sighting {
  Interval interval;  // 95 %
  std::string evidence;
};

/// Two evaluations of one kernel.
struct VerdictPair {
  Sighting first, second;

  bool overlaps() const {
    return first.interval.low <= second.interval.high && second.interval.low <= first.interval.high;
  }
};

/// Evaluates one kernel twice per pair. A verdict without times ends it, with what it said.
Result<std::vector<VerdictPair>> measure_pairs(SandboxBackend& backend, const Task& task,
                                               const std::string& source, int64_t pairs,
                                               const BenchProgress& progress);

}  // namespace warpsmith::actors

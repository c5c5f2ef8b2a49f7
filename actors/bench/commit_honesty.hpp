// SPDX-License-Identifier: Apache-2.0
// How honest the sequential commit's times are: no-ops, a loop of known length, repeated verdicts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/bench/kernel_sources.hpp"
#include "actors/sandbox_backend.hpp"
#include "runtime/clock.hpp"
#include "sandbox/commit/self_check.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

using BenchProgress = std::function<void(const std::string&)>;

/// Compiles the check's kernel, then measures `processes` fresh contestants. Call it from the
/// program's main thread.
Result<std::vector<sandbox::SelfCheck>> measure_commit(const sandbox::SandboxOptions& options,
                                                       int64_t processes, Deadline deadline);

/// Speed-up against eager as two complete evaluations of one kernel saw it.
struct VerdictPair {
  Interval first, second;  // 95 %

  bool overlaps() const { return first.low <= second.high && second.low <= first.high; }
};

/// Evaluates one kernel twice per pair. A verdict without times ends it, with what it said.
Result<std::vector<VerdictPair>> measure_pairs(SandboxBackend& backend, const Task& task,
                                               const std::string& source, int64_t pairs,
                                               const BenchProgress& progress);

}  // namespace warpsmith::actors

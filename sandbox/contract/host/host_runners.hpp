// SPDX-License-Identifier: Apache-2.0
// The process that waits for the next candidate of contract `host`.
#pragma once

#include <optional>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/contract/host/host_contestant.hpp"

namespace warpsmith::sandbox {

/// Holds at most one waiting process; its jail is the calling thread's.
class HostRunners {
 public:
  explicit HostRunners(HostRunnerOptions options) : options_(std::move(options)) {}

  /// Starts a process if none waits. It takes a core for a while.
  Result<void> begin_warming();
  /// The same, and returns once the process is warm.
  OrFailure<void> warm_up(Deadline deadline);
  /// Returns once nothing warms up any more. Drops a process that does not become warm.
  void rest(Deadline deadline);
  /// A warm process, for one candidate.
  OrFailure<HostRunner> take(Deadline deadline);

 private:
  HostRunnerOptions options_;
  std::optional<HostRunner> waiting_;
};

}  // namespace warpsmith::sandbox

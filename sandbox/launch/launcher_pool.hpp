// SPDX-License-Identifier: Apache-2.0
// Jailed launchers, warm and stopped, each waiting for one candidate.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/device/gpu_access.hpp"

namespace warpsmith::sandbox {

struct LauncherOptions {
  std::string program;           // warpsmith-sandbox, or a test's with another device
  std::optional<GpuAccess> gpu;  // none: the jail shows no GPU
  JailLimits limits{.memory_bytes = 8ULL << 30U, .cpu = std::chrono::seconds{600}};
  std::optional<int> core;
  size_t ready = 1;  // number of launchers kept waiting
  int calibration_calls = 64;
  /// Memory of `record_file_bytes` for the records of this pool's launchers; −1: they do not
  /// record.
  int records_fd = -1;
};

/// A launcher that answers no-ops, is calibrated, and is stopped.
struct WarmLauncher {
  Contestant contestant;
  FrameSocket socket;  // for a plan and its memories, before `confine`
};

/// The jail of a launcher.
Result<JailSpec> launch_jail(const LauncherOptions& options);

/// Not thread-safe; the jails belong to the calling thread. A launcher serves one candidate.
class LauncherPool {
 public:
  explicit LauncherPool(LauncherOptions options) : options_(std::move(options)) {}

  /// Starts launchers until `ready` of them wait. Returns while they still warm up (0.3 s on a GPU,
  /// which they disturb meanwhile).
  Result<void> refill();
  /// Returns once every waiting launcher is warm and stopped: then no process of the pool runs.
  OrFailure<void> settle(Deadline deadline);
  /// Calibrates and returns the launcher that waited longest. Starts one if none waits, and
  /// replaces one that died. The caller refills the pool while nothing is timed.
  OrFailure<WarmLauncher> take(Deadline deadline);

  /// The number of waiting launchers.
  size_t waiting() const { return waiting_.size(); }
  const LauncherOptions& options() const { return options_; }

 private:
  struct Waiting {
    std::shared_ptr<JailedProcess> process;
    std::optional<ControlMemory> control;  // empty once it is warm
    std::optional<Contestant> contestant;  // empty until it is warm
    FrameSocket socket;
  };
  Result<Waiting> start() const;
  OrFailure<void> warm(Waiting& launcher, Deadline deadline) const;

  LauncherOptions options_;
  std::deque<Waiting> waiting_;
};

}  // namespace warpsmith::sandbox

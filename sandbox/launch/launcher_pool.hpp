// SPDX-License-Identifier: Apache-2.0
// Jailed launchers that wait, warm and stopped, for one candidate each.
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
  std::string program;           // warpsmith-sandbox
  std::optional<GpuAccess> gpu;  // none: the software device
  JailLimits limits{.memory_bytes = 8ULL << 30U, .cpu = std::chrono::seconds{600}};
  std::optional<int> core;
  size_t ready = 1;  // launchers that wait
  int calibration_calls = 64;
  /// Memory of `record_file_bytes` for what launchers of this pool record; −1: they record nothing.
  int records_fd = -1;
};

/// One launcher: it answers no-ops, is calibrated and stopped.
struct WarmLauncher {
  Contestant contestant;
  FrameSocket socket;  // for a plan and its memories, before `confine`
};

/// The jail that a launcher runs in.
Result<JailSpec> launch_jail(const LauncherOptions& options);

/// Not thread-safe; jails belong to the calling thread. A launcher serves one candidate.
class LauncherPool {
 public:
  explicit LauncherPool(LauncherOptions options) : options_(std::move(options)) {}

  /// Starts launchers until `ready` of them wait, and returns while they warm up by themselves
  /// (0.3 s on a GPU, which they then disturb).
  Result<void> refill();
  /// Returns once all that wait are warm and stopped: nothing of the pool runs then.
  Result<void> settle(Deadline deadline);
  /// The one that waited longest, calibrated now; starts one if none waits, and another for one
  /// that died. Refilling is the caller's, at a moment when nothing is timed.
  Result<WarmLauncher> take(Deadline deadline);

  /// Launchers that wait.
  size_t waiting() const { return waiting_.size(); }
  const LauncherOptions& options() const { return options_; }

 private:
  struct Waiting {
    std::shared_ptr<JailedProcess> process;
    std::optional<ControlMemory> control;  // until it is warm
    std::optional<Contestant> contestant;  // from then on
    FrameSocket socket;
  };
  Result<Waiting> start() const;
  Result<void> warm(Waiting& launcher, Deadline deadline) const;

  LauncherOptions options_;
  std::deque<Waiting> waiting_;
};

}  // namespace warpsmith::sandbox

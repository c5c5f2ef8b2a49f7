// SPDX-License-Identifier: Apache-2.0
// Leases: one service at a time uses a GPU or a core. Several services can share one GPU, and the
// slots of two runs can have the same core. While one verifies and times, the others compile and
// start their jails.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// The folder of the lock files. Fixed, because all users of a GPU must share its lease; TMPDIR
/// differs between users.
inline constexpr const char* machine_leases = "/tmp/warpsmith-leases";

/// The name of a core in leases, for slots without a GPU.
std::string core_device(int core);

/// The open lock file of `device`, for a process that cannot see `folder` and calls flock(2)
/// itself. The lock is free once all copies of the descriptor are closed.
Result<UniqueFd> open_lease(const std::string& folder, const std::string& device);

/// Holds the lock. The kernel drops it when the process ends, however it ends.
class DeviceLease {
 public:
  /// Waits for `device` until the deadline (`timeout`). The name is the same for all services on
  /// this machine: it holds a GPU's PCI address or a core's number. Makes `folder` for all users.
  static Result<DeviceLease> acquire(const std::string& folder, const std::string& device,
                                     Deadline deadline);
  double held_ms() const { return in_ms(SteadyClock::now() - since_); }

 private:
  explicit DeviceLease(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
  SteadyClock::time_point since_ = SteadyClock::now();
};

/// Acquires the slot's lease; returns nothing for a slot without a GPU or core of its own.
using AcquireLease = std::function<Result<std::optional<DeviceLease>>(Deadline)>;

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The turns of one ingest on a device that others use too. While it computes it holds a share, so
// that ingests of several slots run at once and a lease is soon let through; while it times it
// holds the lease. A recurrent network computes for minutes, and leaves the GPU idle mostly.
#pragma once

#include <functional>
#include <optional>

#include "runtime/device/lease.hpp"
#include "sandbox/failure/time_limits.hpp"

namespace warpsmith::sandbox {

/// Opens a share of the slot's device.
using OpenShare = std::function<Result<DeviceShare>()>;

class DeviceTurns {
 public:
  /// Without `acquire` there are no turns; without `open` the lease is held from the first turn on.
  /// `budget` is the task's own time, to which waits do not count; they end at `deadline`.
  DeviceTurns(AcquireLease acquire, OpenShare open, std::chrono::milliseconds budget,
              Deadline deadline)
      : acquire_(std::move(acquire)),
        open_(std::move(open)),
        deadline_(deadline),
        patience_(Blame::task, budget, deadline) {}

  /// Returns once the caller may compute. Call it often: a lease waits from one call to the next.
  Result<void> compute();
  /// Returns once nobody else uses the device, which then stays so.
  Result<void> be_alone();
  /// How long the next request may take. Stays valid as long as this object.
  const Patience& patience() const { return patience_; }

 private:
  template <class Wait>
  Result<void> wait(const Wait& wait);

  AcquireLease acquire_;
  OpenShare open_;
  Deadline deadline_;
  Patience patience_;
  std::optional<DeviceShare> share_;
  std::optional<DeviceLease> lease_;
};

}  // namespace warpsmith::sandbox

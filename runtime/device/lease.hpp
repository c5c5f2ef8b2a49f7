// SPDX-License-Identifier: Apache-2.0
// Leases: one service at a time measures on a GPU or a core. Several services can share one GPU,
// and the slots of two runs can have the same core. While one verifies and times, the others
// compile and start their jails. A policy on the same GPU holds shares, and returns them when
// asked. Leases have priority over shares, except that a share that has waited for long has
// priority over leases that are not acquired yet: a series of measurements cannot starve other
// work.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "runtime/clock.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// The folder of the lock files. Fixed, because all users of a GPU must share its lease; TMPDIR
/// differs between users.
inline constexpr const char* default_lease_folder = "/tmp/warpsmith-leases";

/// The name of a core in leases, for slots without a GPU.
std::string core_device(int core);
/// The name of a GPU in leases: its PCI address.
std::string gpu_device(const cuda::Gpu& gpu);

/// The open lock file of `device`, for a process that cannot see `folder` and calls flock(2)
/// itself. The lock is free once all copies of the descriptor are closed. Before it waits in flock,
/// the process takes an open-file-description lock of byte 0, which tells the holders of shares. A
/// lock of byte 1 means that a share has waited for long: then a lease does not take byte 0.
Result<UniqueFd> open_lease(const std::string& folder, const std::string& device);

/// Holds the lock. The kernel drops it when the process ends, however it ends.
class DeviceLease {
 public:
  /// Waits for `device` until the deadline (`timeout`). The name is the same for all services on
  /// this machine: it contains a GPU's PCI address or a core's number. Makes `folder` for all
  /// users.
  static Result<DeviceLease> acquire(const std::string& folder, const std::string& device,
                                     Deadline deadline);
  double held_ms() const { return in_ms(SteadyClock::now() - since_); }

 private:
  explicit DeviceLease(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
  SteadyClock::time_point since_ = SteadyClock::now();
};

/// A share of a device, for work that runs together with other work. Its holder checks often
/// whether a lease is wanted, and then returns the share. Leases have priority until the share has
/// been requested for `patience`; it may then be kept for `slice`.
class DeviceShare {
 public:
  static constexpr std::chrono::milliseconds patience{200};
  static constexpr std::chrono::milliseconds slice{100};

  static Result<DeviceShare> open(const std::string& folder, const std::string& device);
  /// Acquires the share if nothing holds or waits for a lease; does not wait. The caller tries
  /// again, or calls give_back.
  bool try_hold();
  bool is_held() const { return held_; }
  /// True if the share must be returned: something holds or waits for a lease. One system call.
  bool is_wanted() const;
  /// Acquires the share; `timeout` at the deadline.
  Result<void> hold(Deadline deadline);
  /// Also ends the wait for a share that is not held.
  void give_back();

 private:
  explicit DeviceShare(UniqueFd file) : file_(std::move(file)) {}
  bool lease_is_pending() const;
  void claim(bool claims);

  UniqueFd file_;
  bool held_ = false;
  bool claims_ = false;                                 // has priority over new leases
  std::optional<SteadyClock::time_point> asked_since_;  // while the share is not held
  SteadyClock::time_point kept_until_{};
};

/// Room in a device's memory, which has a separate lock (`memory_of`). Work that needs much memory
/// leases it; other work holds a share. Acquire room before the device's lease, never after it.
using DeviceRoom = std::variant<DeviceLease, DeviceShare>;

/// The name of a device's memory in leases.
std::string memory_of(const std::string& device);
/// Room for work that needs much memory, or little.
Result<DeviceRoom> acquire_room(const std::string& folder, const std::string& device, bool much,
                                Deadline deadline);

/// Acquires the slot's lease; returns nothing for a slot that has no GPU or core.
using AcquireLease = std::function<Result<std::optional<DeviceLease>>(Deadline)>;
/// Acquires room for work that needs much memory.
using AcquireRoom = std::function<Result<DeviceRoom>(Deadline)>;

}  // namespace warpsmith

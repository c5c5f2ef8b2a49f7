// SPDX-License-Identifier: Apache-2.0
// Who may use a GPU, or a core, now. Several services share one GPU, and the slots of two runs may
// have the same core: while one verifies and times, the others compile, start their jails and judge
// what needs no device.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Where lock files live, whoever runs with whatever cache: what shares a GPU must share its
/// leases. Not TMPDIR's folder, which differs between users.
inline constexpr const char* machine_leases = "/tmp/warpsmith-leases";

/// The name of a core: of a slot's that has no GPU.
std::string core_device(int core);

/// The lock behind the leases of `device`, open: for a process that does not see `folder` and takes
/// turns by flock(2). It is free once all copies of the descriptor are closed.
Result<UniqueFd> open_lease(const std::string& folder, const std::string& device);

/// Held while it lives; the kernel gives it back when its process ends, however it ends.
class DeviceLease {
 public:
  /// Waits for `device` (a name that all services on this machine agree on: of a GPU's PCI address,
  /// or a core's number) until the deadline: `timeout` names it. Lock files live in `folder`, which
  /// they share; it is made for all users.
  static Result<DeviceLease> acquire(const std::string& folder, const std::string& device,
                                     Deadline deadline);
  double held_ms() const { return in_ms(SteadyClock::now() - since_); }

 private:
  explicit DeviceLease(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
  SteadyClock::time_point since_ = SteadyClock::now();
};

/// Of what services may share; gives nothing on a slot without GPU or core of its own.
using AcquireLease = std::function<Result<std::optional<DeviceLease>>(Deadline)>;

}  // namespace warpsmith::sandbox

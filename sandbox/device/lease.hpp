// SPDX-License-Identifier: Apache-2.0
// Who may use a GPU now. Several services share one GPU: while one verifies and times, the others
// compile, start their jails and judge what needs no device.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Held while it lives; the kernel gives it back when its process ends, however it ends.
class DeviceLease {
 public:
  /// Waits for `device` (a name that all services on this machine agree on: the GPU's UUID) until
  /// the deadline: `timeout` names it. Lock files live in `folder`, which all services share.
  static Result<DeviceLease> acquire(const std::string& folder, const std::string& device,
                                     Deadline deadline);
  std::chrono::steady_clock::time_point since() const { return since_; }

 private:
  DeviceLease(UniqueFd file, std::chrono::steady_clock::time_point since)
      : file_(std::move(file)), since_(since) {}
  UniqueFd file_;
  std::chrono::steady_clock::time_point since_;
};

/// Of a GPU that services share; gives nothing on a CPU slot.
using AcquireLease = std::function<Result<std::optional<DeviceLease>>(Deadline)>;

}  // namespace warpsmith::sandbox

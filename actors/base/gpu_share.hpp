// SPDX-License-Identifier: Apache-2.0
// Sharing of a GPU between the policy's actors and the sandboxes that time kernels on it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/device/lease.hpp"

namespace warpsmith::actors {

/// The GPU that an actor of the policy shares with measurements.
struct SharedGpu {
  std::optional<int> gpu;                     // number of the GPU; empty: the actor is on a CPU
  std::string device;                         // its name in leases; empty: that of `gpu`, if any
  std::string folder = default_lease_folder;  // of the lock files
};

/// Returns nothing if `shared` names no device. Throws ActorFailure if there is no such GPU.
std::optional<DeviceShare> open_share(const SharedGpu& shared);

/// Holds a share during one piece of work; does nothing without a share. Waits until no measurement
/// uses or waits for the device, and throws ActorFailure (`timeout`) after `timeout`.
class ShareHold {
 public:
  ShareHold(std::optional<DeviceShare>& share, std::chrono::milliseconds timeout);
  ~ShareHold();
  ShareHold(const ShareHold&) = delete;
  ShareHold& operator=(const ShareHold&) = delete;

 private:
  std::optional<DeviceShare>& share_;
};

}  // namespace warpsmith::actors

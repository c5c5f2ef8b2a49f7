// SPDX-License-Identifier: Apache-2.0
// Shares of a GPU on which kernels are timed too, for the actors of a policy.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/device/lease.hpp"

namespace warpsmith::actors {

/// What a policy's actor shares with measurements.
struct SharedGpu {
  std::optional<int> gpu;               // number of the GPU; empty: the actor is on a CPU
  std::string device;                   // its name in leases; empty: that of `gpu`, if any
  std::string folder = machine_leases;  // of the lock files
};

/// Nothing if `shared` names no device. Throws ActorFailure if the GPU is not there.
std::optional<DeviceShare> open_share(const SharedGpu& shared);

/// Holds a share during one piece of work; does nothing without a share. Waits until no measurement
/// holds or wants the device, and throws ActorFailure (`timeout`) after `patience`.
class ShareTurn {
 public:
  ShareTurn(std::optional<DeviceShare>& share, std::chrono::milliseconds patience);
  ~ShareTurn();
  ShareTurn(const ShareTurn&) = delete;
  ShareTurn& operator=(const ShareTurn&) = delete;

 private:
  std::optional<DeviceShare>& share_;
};

}  // namespace warpsmith::actors

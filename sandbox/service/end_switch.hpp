// SPDX-License-Identifier: Apache-2.0
// Ends sandbox services from another thread, also during a call.
#pragma once

#include <mutex>
#include <set>

namespace warpsmith::sandbox {

/// Shared by the owner of a run and the clients of its services. `end_services` ends them with
/// their jails, and no other starts afterwards.
class EndSwitch {
 public:
  /// Shuts down the socket of each service; a call in progress returns `peer_lost`.
  void end_services();

  /// False after `end_services`: the service must not start.
  bool add(int socket);
  /// Call it before the descriptor is closed.
  void remove(int socket);

 private:
  std::mutex mutex_;
  std::set<int> sockets_;
  bool ended_ = false;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Ends sandbox services from another thread, also in the middle of a call.
#pragma once

#include <mutex>
#include <set>

namespace warpsmith::sandbox {

/// Shared by the owner of a run and the clients of its services. Once thrown it stays thrown: the
/// services that hang on it end with their jails, and no other starts.
class EndSwitch {
 public:
  /// Closes the line of each service; a call in hand returns with `peer_lost`.
  void end_services();

  /// False once thrown: the service must not start.
  bool add(int socket);
  /// Before the descriptor is closed.
  void remove(int socket);

 private:
  std::mutex mutex_;
  std::set<int> sockets_;
  bool thrown_ = false;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/end_switch.hpp"

#include <sys/socket.h>

namespace warpsmith::sandbox {

void EndSwitch::end_services() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  // Not closed: a client may wait on it.
  for (const int socket : sockets_) (void)::shutdown(socket, SHUT_RDWR);
}

bool EndSwitch::add(int socket) {
  const std::lock_guard lock(mutex_);
  if (!ended_) sockets_.insert(socket);
  return !ended_;
}

void EndSwitch::remove(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.erase(socket);
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The service's loop: reads a request, handles it, answers. One thread starts all jails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/protocol/backend.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::sandbox {

/// Makes what judges from the options, which the client's first frame holds. No object: a service
/// for command lines only.
using MakeBackend = std::function<Result<std::unique_ptr<Backend>>(const SandboxOptions&)>;

/// What ends with a client that leaves between two requests.
enum class OnDisconnect : uint8_t { end_service, keep_serving };

/// Keeps its backend from one client to the next.
class Server {
 public:
  Server(const MakeBackend& make_backend, OnDisconnect on_disconnect);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves a client until it leaves; false if the service must end. A client whose socket closes
  /// during a request ends this process with all jails, whatever the main thread does.
  bool talk(FrameSocket socket);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Serves one client until it sends `shutdown` or closes its socket, and ends every jail before it
/// returns the exit code.
int serve(FrameSocket socket, const MakeBackend& make_backend);

/// The jail that this machine supports, for the service's health: starts a `run` jail without a
/// candidate and returns its report. Fails with the reason if no jail can be made. `runner`: path
/// of warpsmith-sandbox.
Result<std::map<std::string, std::string>> probe_run_jail(const std::string& runner,
                                                          Deadline deadline);

}  // namespace warpsmith::sandbox

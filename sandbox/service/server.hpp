// SPDX-License-Identifier: Apache-2.0
// The service's loop: reads a request, carries it out, answers. One thread starts all jails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/process/frame_socket.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::sandbox {

/// The requests that need an evaluator.
struct ServiceWork {
  std::function<Judgement(const EvaluateRequest&, Deadline, const Progress&)> evaluate;
  std::function<Result<TaskFacts>(const Task&, Deadline, const Progress&)> ingest;
};
/// Makes the work from the options, which the client's first frame holds.
using MakeWork = std::function<Result<ServiceWork>(const SandboxOptions&)>;

/// What ends with a client that leaves between two requests.
enum class Leaving : uint8_t { ends_the_service, keeps_serving };

/// Keeps its work from one client to the next.
class Server {
 public:
  Server(const MakeWork& make_work, Leaving leaving);
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
int serve(FrameSocket socket, const MakeWork& make_work);

}  // namespace warpsmith::sandbox

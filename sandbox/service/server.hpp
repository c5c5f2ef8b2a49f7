// SPDX-License-Identifier: Apache-2.0
// The service's loop: takes a request, carries it out, answers. One thread spawns all jails.
#pragma once

#include <functional>

#include "runtime/process/frame_socket.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::sandbox {

/// The work that judging modules do for the service.
struct ServiceWork {
  std::function<Judgement(const EvaluateRequest&, Deadline, const Progress&)> evaluate;
  std::function<Result<TaskFacts>(const Task&, Deadline, const Progress&)> ingest;
};
/// Makes the work once the options are known (from the client's first frame).
using MakeWork = std::function<Result<ServiceWork>(const SandboxOptions&)>;

/// Serves until the client says `shutdown` or goes away; ends every jail before it returns. While a
/// request is carried out, a watcher thread ends the process (and its jails) if the client goes.
/// Returns the process's exit code.
int serve(FrameSocket socket, const MakeWork& make_work);

}  // namespace warpsmith::sandbox

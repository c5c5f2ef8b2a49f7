// SPDX-License-Identifier: Apache-2.0
// The service's loop: reads a request, carries it out, answers. One thread starts all jails.
#pragma once

#include <functional>

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

/// Serves until the client sends `shutdown` or closes its socket, and ends every jail before it
/// returns the exit code. During a request, a watcher thread ends the process and its jails if the
/// client's socket closes.
int serve(FrameSocket socket, const MakeWork& make_work);

}  // namespace warpsmith::sandbox

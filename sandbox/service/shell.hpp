// SPDX-License-Identifier: Apache-2.0
// The agent's command line in the shell jail.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/service/workspace_growth.hpp"

namespace warpsmith::sandbox {

/// Working directory, exported variables and functions, which the workspace holds for the next
/// command. Jobs begin with them, but keep none.
enum class ShellState : uint8_t { kept, read };

/// Runs the command in the workspace, on the calling thread's cores. An error is a failure of the
/// sandbox; everything that the command does is a result. `cgroup_required`: fails unless a cgroup
/// limits the command. `meanwhile` is called every 100 ms.
Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline,
                              bool cgroup_required = false,
                              const std::function<void()>& meanwhile = {});

/// Starts the command and does not wait for it; the caller watches the workspace and the time.
Result<std::unique_ptr<JailedProcess>> start_command(const ShellRequest& request,
                                                     bool cgroup_required, ShellState state);
ShellResult result_of(JailExit exit);

}  // namespace warpsmith::sandbox

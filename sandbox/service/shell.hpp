// SPDX-License-Identifier: Apache-2.0
// The agent's command line in the shell jail.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Limits of a workspace while a command runs; beyond them the command is killed.
inline constexpr uint64_t max_workspace_bytes = 256ULL << 20U;
inline constexpr uint64_t max_workspace_entries = 20'000;

/// Runs the command in the workspace, on the calling thread's cores. An error is a failure of the
/// sandbox; everything that the command does is a result. `cgroup_required`: fails unless a cgroup
/// limits the command.
Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline,
                              bool cgroup_required = false);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The agent's command line in the shell jail.
#pragma once

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// What a workspace may grow to while a command runs; beyond it the command is killed.
inline constexpr uint64_t max_workspace_bytes = 256ULL << 20U;
inline constexpr uint64_t max_workspace_entries = 20'000;

/// Runs the command with the workspace as its folder. Errors are ours; whatever the command does is
/// a result. It has the calling thread's cores, and cannot take others. `cgroup_required`: fails
/// where the command's limits would lack a cgroup.
Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline,
                              bool cgroup_required = false);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// How far commands let a workspace grow.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace warpsmith::sandbox {

/// Limits of a workspace while a command runs; beyond them the command is killed.
inline constexpr uint64_t max_workspace_bytes = 256ULL << 20U;
inline constexpr uint64_t max_workspace_entries = 20'000;
/// Ends the output of a command that was killed for it.
inline constexpr const char* grown_text =
    "\nthe workspace grew beyond its limit, or cannot be read; the command was killed\n";

/// True if the folder, with the files that the processes of the jail with process `jailed` hold
/// open there unlinked, exceeds the limits. A folder that cannot be read exceeds them too, or a
/// command could hide its files. An entry that vanishes meanwhile counts as nothing.
bool is_beyond_limits(const std::string& workspace, pid_t jailed);

}  // namespace warpsmith::sandbox

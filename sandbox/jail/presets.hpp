// SPDX-License-Identifier: Apache-2.0
// Jails of each kind without their command. jail.hpp declares `worker_jail`.
#pragma once

#include <string>

#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// The toolchain and its headers, read-only, and a private /tmp; nothing else of the host.
JailSpec compile_jail();

/// The distribution's programs, read-only; `workspace` (a folder of the host) read-write at
/// /workspace; no network.
JailSpec shell_jail(const std::string& workspace);

}  // namespace warpsmith::sandbox

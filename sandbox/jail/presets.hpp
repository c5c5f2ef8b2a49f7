// SPDX-License-Identifier: Apache-2.0
// Jails of each kind without their command, and what they show of the host: a Python interpreter,
// or warpsmith-sandbox.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// The toolchain and its headers, read-only, and a private /tmp; nothing else of the host.
JailSpec compile_jail();

/// The distribution's programs, read-only; `workspace` (a folder of the host) read-write at
/// /workspace; no network.
JailSpec shell_jail(const std::string& workspace);

/// The jail of the Python worker. It shows, read-only, the interpreter `python` with the
/// system's libraries and compilers; a private /tmp is its HOME. The caller adds
/// arguments, descriptors and further binds.
Result<JailSpec> worker_jail(const std::string& python);

/// Shows the interpreter `python` under its own path: the parts of its virtual environment and of
/// the underlying installation that Python reads, and the links between them. A link's folder is
/// not shown: it may be a home. `unsupported`, with the remedy, if there is no installation, or if
/// it is spread over a home. Call it after `spec` shows the system's folders.
Result<void> show_interpreter(JailSpec& spec, const std::string& python);

inline constexpr const char* own_program_path = "/runner";

/// Binds `program` (warpsmith-sandbox) at `own_program_path`, with the loader and libraries that
/// `program libraries` prints, and sets the loader's search path. The caller sets argv.
Result<void> add_own_program(JailSpec& spec, const std::string& program);

}  // namespace warpsmith::sandbox

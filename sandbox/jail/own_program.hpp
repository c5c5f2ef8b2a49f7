// SPDX-License-Identifier: Apache-2.0
// Puts our own program into a jail that is otherwise empty.
#pragma once

#include <string>

#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* own_program_path = "/runner";

/// Binds `program` (warpsmith-sandbox) at `own_program_path`, with the loader and libraries that
/// `program libraries` prints, and sets the loader's search path. The caller sets argv.
Result<void> add_own_program(JailSpec& spec, const std::string& program);

}  // namespace warpsmith::sandbox

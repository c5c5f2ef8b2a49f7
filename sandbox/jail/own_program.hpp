// SPDX-License-Identifier: Apache-2.0
// Our own small program inside a jail that holds nothing else.
#pragma once

#include <string>

#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* own_program_path = "/runner";

/// Binds `program` (warpsmith-sandbox) at `own_program_path`, with the loader and the libraries
/// that it lists itself, and tells the loader where to look. The caller sets argv.
Result<void> add_own_program(JailSpec& spec, const std::string& program);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Pure: what the agent reads of a command.
#pragma once

#include <string>

#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Output, then errors; empty if there is neither.
std::string output_text(const ShellResult& result);
/// The same, and how the command ended unless with 0; "(no output)" for nothing.
std::string shell_text(const ShellResult& result);

}  // namespace warpsmith::sandbox

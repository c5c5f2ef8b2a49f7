// SPDX-License-Identifier: Apache-2.0
// Makes text of tasks, compilers and candidates safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::commands {

/// Replaces control characters except new lines and tabs by \xHH: a terminal would obey them. Pure.
std::string for_terminal(std::string_view text);

}  // namespace warpsmith::commands

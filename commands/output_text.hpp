// SPDX-License-Identifier: Apache-2.0
// Text of tasks, compilers and candidates, made safe for a terminal or an HTML page. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::commands {

/// Replaces control characters except new lines and tabs by \xHH: a terminal would obey them.
std::string for_terminal(std::string_view text);

/// Escapes the five characters that HTML reserves.
std::string for_html(std::string_view text);

}  // namespace warpsmith::commands

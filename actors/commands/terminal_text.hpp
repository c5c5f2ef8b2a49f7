// SPDX-License-Identifier: Apache-2.0
// Words of tasks, compilers and candidates, for a person's terminal.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::actors {

/// Control characters but new lines and tabs as \xHH: a terminal would obey them. Pure.
std::string for_terminal(std::string_view text);

}  // namespace warpsmith::actors

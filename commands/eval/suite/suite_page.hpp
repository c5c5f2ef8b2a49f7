// SPDX-License-Identifier: Apache-2.0
// Writes the table of a suite as one HTML page with plots: no script, no file beside it. Pure.
#pragma once

#include <string>

#include "commands/eval/suite/suite_table.hpp"

namespace warpsmith::commands {

/// With `before`, the comparison too.
std::string to_html(const SuiteReport& report, const SuiteReport* before = nullptr);

}  // namespace warpsmith::commands

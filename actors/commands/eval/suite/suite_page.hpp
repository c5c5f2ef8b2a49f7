// SPDX-License-Identifier: Apache-2.0
// Writes the table of a suite as one HTML page with plots: no script, no file beside it. Pure.
#pragma once

#include <string>

#include "actors/commands/eval/suite/suite_table.hpp"

namespace warpsmith::actors {

std::string to_html(const SuiteReport& report);

}  // namespace warpsmith::actors

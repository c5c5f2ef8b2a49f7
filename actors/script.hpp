// SPDX-License-Identifier: Apache-2.0
// A Python script of ours, or of a configuration, run to its end.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// What it printed, by the interpreter that holds torch. Errors begin with the script: `timeout`
/// after `patience`, `process_failed` with what it said on standard error.
Result<std::string> run_script(const std::filesystem::path& script,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds patience);

}  // namespace warpsmith::actors

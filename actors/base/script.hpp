// SPDX-License-Identifier: Apache-2.0
// A Python script of ours, or of a configuration, run to its end.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// What it printed, by the interpreter that holds torch. Errors begin with the script: `timeout`
/// after `patience`, `process_failed` with what it said on standard error.
Result<std::string> run_script(const std::filesystem::path& script,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds patience);

/// The numbers of these names in the JSON object that a script printed. One that lacks:
/// `parse_failed` with all that it said.
Result<std::map<std::string, double>> numbers_of(const std::filesystem::path& script,
                                                 const std::string& said,
                                                 const std::vector<std::string>& names);

}  // namespace warpsmith::actors

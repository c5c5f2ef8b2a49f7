// SPDX-License-Identifier: Apache-2.0
// Runs a Python script and reads its output.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The last line of a program's messages.
std::string last_line(std::string text);

/// Runs `script` with the interpreter that has torch and returns its standard output. Errors start
/// with the script's path: `timeout` once that time has passed, `process_failed` with its standard
/// error, `invalid_argument` with argparse's last line.
Result<std::string> run_script(const std::filesystem::path& script,
                               const std::vector<std::string>& arguments,
                               std::chrono::milliseconds timeout);

/// The numbers of these names in `output`, the JSON object that a script printed. `parse_failed`
/// with the whole output when one is missing.
Result<std::map<std::string, double>> numbers_of(const std::filesystem::path& script,
                                                 const std::string& output,
                                                 const std::vector<std::string>& names);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// `warpsmith config FILE`: checks a configuration and prints it with all defaults.
#include <CLI/CLI.hpp>
#include <iostream>

#include "commands/command.hpp"
#include "commands/config_options.hpp"

namespace warpsmith::commands {
namespace {

ExitCode print_config(const ConfigOptions& options) {
  const auto config = options.load();
  if (!config) return report(config.error());
  std::cout << to_toml(*config);
  return ExitCode::success;
}

}  // namespace

Command config_command() {
  return {
      "config", "Check a configuration and print it with all defaults",
      [](CLI::App& app) -> std::function<ExitCode()> {
        const auto options = add_config_options(app);
        app.footer(
            "Prints every key as TOML, with absolute paths; or every error, with file and line.\n"
            "Example:\n"
            "  warpsmith config configs/quickstart.toml --set run.seed=7\n"
            "Exit codes: 0 valid, 2 not valid.");
        return [options] { return print_config(*options); };
      }};
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// `warpsmith config FILE`: checks a configuration and prints the effective one, defaults included.
#include <iostream>

#include "actors/commands/command.hpp"
#include "actors/commands/config_options.hpp"

namespace warpsmith::actors {
namespace {

ExitCode print_config(const ConfigOptions& options) {
  const auto config = options.load();
  if (!config) return report(config.error());
  std::cout << to_toml(*config);
  return ExitCode::success;
}

}  // namespace

Command config_command() {
  return {"config", "Check a configuration and print it with every default",
          [](CLI::App& app) -> std::function<ExitCode()> {
            const auto options = add_config_options(app);
            return [options] { return print_config(*options); };
          }};
}

}  // namespace warpsmith::actors

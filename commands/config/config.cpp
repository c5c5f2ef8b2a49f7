// SPDX-License-Identifier: Apache-2.0
// The arguments that select a configuration, and `warpsmith config FILE`, which checks one and
// prints it with all defaults.
#include "commands/config/config.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "commands/command.hpp"

namespace warpsmith::commands {

void add_overrides(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_option("--set", overrides, "Override one key, e.g. --set run.seed=7; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

std::shared_ptr<ConfigOptions> add_config_options(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  app.add_option("CONFIG", options->file, "Configuration file (TOML)")->type_name("")->required();
  add_overrides(app, options->overrides);
  return options;
}

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

// SPDX-License-Identifier: Apache-2.0
#include "commands/config_options.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace warpsmith::commands

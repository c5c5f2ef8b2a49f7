// SPDX-License-Identifier: Apache-2.0
// The arguments that select a configuration, the same in every command that takes one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace warpsmith::commands {

struct ConfigOptions {
  std::string file;
  std::vector<std::string> overrides;  // "run.seed=7"

  /// Reads and checks the configuration; the error lists every complaint.
  Result<RunConfig> load() const { return load_run_config(file, overrides); }
};

/// Adds a repeatable `--set KEY=VALUE`. It takes one value each time, so that a file may follow it.
void add_overrides(CLI::App& app, std::vector<std::string>& overrides);

/// Adds CONFIG and `--set`; parsing the command line fills the result.
std::shared_ptr<ConfigOptions> add_config_options(CLI::App& app);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// The arguments that name a configuration, the same for every command that takes one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace warpsmith::actors {

struct ConfigOptions {
  std::string file;
  std::vector<std::string> overrides;  // "learner.learning_rate=1e-5"

  /// Reads and checks it; every complaint in one error.
  Result<RunConfig> load() const { return load_run_config(file, overrides); }
};

/// Adds a repeatable `--set KEY=VALUE` that takes one value each, so that a file may follow it.
void add_overrides(CLI::App& app, std::vector<std::string>& overrides);

/// Adds CONFIG and a repeatable `--set KEY=VALUE`; filled when the command line is parsed.
std::shared_ptr<ConfigOptions> add_config_options(CLI::App& app);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// --baselines: the baselines of a GPU's evaluations besides eager and torch.compile.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace warpsmith::commands {

/// Adds the option. `names` receives its values; its present content is the default.
void add_baselines_option(CLI::App& app, std::vector<std::string>& names);

/// The value for `sandbox.baselines`: `names`, or an empty list for "none".
std::vector<std::string> selected_baselines(std::vector<std::string> names);

}  // namespace warpsmith::commands

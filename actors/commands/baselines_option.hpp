// SPDX-License-Identifier: Apache-2.0
// --baselines: what a GPU's evaluations are timed against besides eager and torch.compile.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace warpsmith::actors {

/// `names` holds the option's words; its value before is the default.
void add_baselines_option(CLI::App& app, std::vector<std::string>& names);

/// sandbox.baselines of the option's words: "none" is an empty list.
std::vector<std::string> baselines_asked(std::vector<std::string> names);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
#include "commands/baselines_option.hpp"

#include <CLI/CLI.hpp>

namespace warpsmith::commands {

void add_baselines_option(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--baselines", names,
                 "On GPUs: further baselines to time besides eager and torch.compile:\n"
                 "max-autotune, cuda-graph, both separated by a comma (auto), or none")
      ->capture_default_str()
      ->delimiter(',')
      ->allow_extra_args(false)  // otherwise it would take the arguments that follow
      ->check(CLI::IsMember({"auto", "none", "max-autotune", "cuda-graph"}));
}

std::vector<std::string> selected_baselines(std::vector<std::string> names) {
  if (names.size() == 1 && names.front() == "none") return {};
  return names;
}

}  // namespace warpsmith::commands

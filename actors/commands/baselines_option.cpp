// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/baselines_option.hpp"

#include <CLI/CLI.hpp>

namespace warpsmith::actors {

void add_baselines_option(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--baselines", names,
                 "Timed besides eager and torch.compile, on GPUs: max-autotune, cuda-graph, "
                 "both with a comma between them (the default), or none")
      ->delimiter(',')
      ->allow_extra_args(false)  // or it takes what stands behind it
      ->check(CLI::IsMember({"auto", "none", "max-autotune", "cuda-graph"}));
}

std::vector<std::string> baselines_asked(std::vector<std::string> names) {
  if (names.size() == 1 && names.front() == "none") return {};
  return names;
}

}  // namespace warpsmith::actors

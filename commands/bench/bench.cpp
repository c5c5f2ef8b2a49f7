// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench …`: figures beside those of a peer or a bar, measured in the same run.
#include <CLI/CLI.hpp>
#include <utility>

#include "commands/bench/bench_parts.hpp"

namespace warpsmith::commands {
namespace {

using Action = std::function<ExitCode()>;

std::vector<std::pair<CLI::App*, Action>> add_parts(CLI::App& app) {
  std::vector<std::pair<CLI::App*, Action>> parts;
  for (const Command& part :
       {bench_evaluate_part(), bench_gpus_part(), bench_commit_part(), bench_pairs_part(),
        bench_repeat_part(), bench_tasks_part(), bench_faults_part(), bench_timing_part(),
        bench_decode_part(), bench_serve_part(), bench_learn_part(), bench_parity_part(),
        bench_actors_part()}) {
    CLI::App* sub = app.add_subcommand(part.name, part.about);
    parts.emplace_back(sub, part.add(*sub));
  }
  return parts;
}

}  // namespace

Command bench_command() {
  return {"bench", "Measure a part of the program beside its peer or its bar",
          [](CLI::App& app) -> Action {
            app.require_subcommand(1);
            const auto parts = add_parts(app);
            app.footer(
                "A peer is another implementation of the same work, a bar the figure to reach. A "
                "missed bar\n"
                "is printed; the exit code stays 0. Only `faults` ends with 3, if a verdict "
                "changed or\n"
                "something was left behind.\n"
                "Help on one bench: warpsmith bench NAME --help");
            return [parts] {
              for (const auto& [sub, action] : parts) {
                if (sub->parsed()) return action();
              }
              return ExitCode::bad_input;
            };
          }};
}

}  // namespace warpsmith::commands

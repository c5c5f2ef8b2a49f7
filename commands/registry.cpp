// SPDX-License-Identifier: Apache-2.0
// The list of commands.
#include "commands/command.hpp"

namespace warpsmith::commands {

std::vector<Command> all_commands() {
  return {
      train_command(), eval_command(),   check_command(),  optimize_command(),
      mcp_command(),   serve_command(),  runs_command(),   synth_command(),
      bench_command(), config_command(), doctor_command(),
  };
}

}  // namespace warpsmith::commands

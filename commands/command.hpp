// SPDX-License-Identifier: Apache-2.0
// The frame of the program's commands. A new command needs a folder here with a file that defines
// `NAME_command()`, its line in CMakeLists.txt, one line below, and one in command_line.cpp.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace warpsmith::commands {

/// The program's exit codes.
enum class ExitCode : int {
  success = 0,
  judged_wrong = 1,    // a submission was judged, and is not correct
  bad_input = 2,       // a file, option or configuration is wrong; the message says where
  infrastructure = 3,  // the machine or this program failed
  interrupted = 130,   // Ctrl-C ended it before the result was complete
};

/// One command. `add` adds its options and returns its action, whose result is the program's exit
/// code; an exception from the action becomes an `infrastructure` failure.
struct Command {
  std::string name;
  std::string about;  // its line in --help
  std::function<std::function<ExitCode()>(CLI::App&)> add;
};

Command bench_command();
Command check_command();
Command config_command();
Command doctor_command();
Command eval_command();
Command mcp_command();
Command optimize_command();
Command runs_command();
Command serve_command();
Command synth_command();
Command train_command();

/// All commands, in the order of --help.
std::vector<Command> all_commands();

/// Prints the message on standard error and returns the exit code for the error.
ExitCode report(const Error& error);

/// Parses the command line and runs its command.
ExitCode run_command_line(int argc, const char* const* argv);

/// Opens /dev/null for each standard stream that the caller closed. Otherwise the first files that
/// the program opens would get these numbers, and the program's output.
void reserve_standard_streams();

/// Flushes `out` and returns `code`; if that fails, reports it and turns `success` into
/// `infrastructure`.
ExitCode flush_output(ExitCode code, std::ostream& out);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// The frame of the program's commands. A new command is one file that defines `NAME_command()`, its
// line in CMakeLists.txt, one line below, and one in registry.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace warpsmith::actors {

/// What the program answers to the shell.
enum class ExitCode : int {
  success = 0,
  judged_wrong = 1,    // a submission was judged, and is not correct
  bad_input = 2,       // a file, option or configuration is wrong; the message says where
  infrastructure = 3,  // the machine or this program failed
  interrupted = 130,   // Ctrl-C came before the answer was whole
};

/// Registers one command: its options, and what runs when the command line names it. What it
/// returns ends the program; what it throws is an `infrastructure` failure.
struct Command {
  std::string name;
  std::string about;                                        // one line of --help
  std::function<std::function<ExitCode()>(CLI::App&)> add;  // adds options, gives the action
};

Command bench_command();
Command check_command();
Command config_command();
Command doctor_command();
Command eval_command();
Command runs_command();
Command train_command();

/// In the order of --help.
std::vector<Command> all_commands();

/// Prints the message on standard error; the exit code that fits the error.
ExitCode report(const Error& error);

/// Parses the command line and runs the command it names.
ExitCode run_command_line(int argc, const char* const* argv);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// The program `warpsmith`: one command line, one command, one exit code.
#include <iostream>

#include "commands/command.hpp"

int main(int argc, char** argv) {
  using namespace warpsmith::commands;
  reserve_standard_streams();
  return static_cast<int>(flush_output(run_command_line(argc, argv), std::cout));
}

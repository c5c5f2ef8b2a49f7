// SPDX-License-Identifier: Apache-2.0
// The program `warpsmith`: one command line, one command, one exit code.
#include "actors/commands/command.hpp"

int main(int argc, char** argv) {
  return static_cast<int>(warpsmith::actors::run_command_line(argc, argv));
}

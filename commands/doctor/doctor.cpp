// SPDX-License-Identifier: Apache-2.0
// `warpsmith doctor`: reports what this machine has and lacks, and how to get the rest.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/doctor/doctor_checks.hpp"

namespace warpsmith::commands {
namespace {

ExitCode examine(bool json) {
  Findings findings;
  check_machine(findings);
  check_jail(findings);
  check_build(findings);
  check_gpu(findings);
  check_device_contract(findings);
  std::cout << (json ? to_json(findings) + "\n" : to_text(findings));
  return all_present(findings) ? ExitCode::success : ExitCode::infrastructure;
}

}  // namespace

Command doctor_command() {
  return {
      "doctor", "Report what this machine has and lacks, and how to get the rest",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto json = std::make_shared<bool>(false);
        app.add_flag("--json", *json, "Print one JSON object");
        app.footer(
            "Checks the machine, the jail, the build, the GPUs and contract device. \"!\" marks\n"
            "missing parts: nothing runs without them. \"-\" marks absent parts: something is\n"
            "slower or not available without them. The advice for both stands at the end.\n"
            "Exit codes: 0 nothing is missing, 3 something is.");
        return [json] { return examine(*json); };
      }};
}

}  // namespace warpsmith::commands

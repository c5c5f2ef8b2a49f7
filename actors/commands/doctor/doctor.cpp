// SPDX-License-Identifier: Apache-2.0
// `warpsmith doctor`: what this machine offers and lacks, and how to get what is missing.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "actors/commands/command.hpp"
#include "actors/commands/doctor/doctor_checks.hpp"

namespace warpsmith::actors {
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
  return {"doctor", "Show what this machine offers and lacks, and how to get the rest",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto json = std::make_shared<bool>(false);
            app.add_flag("--json", *json, "Print one JSON object");
            return [json] { return examine(*json); };
          }};
}

}  // namespace warpsmith::actors

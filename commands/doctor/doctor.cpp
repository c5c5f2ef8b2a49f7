// SPDX-License-Identifier: Apache-2.0
// `warpsmith doctor`: reports what this machine has and lacks, and how to get the rest.
#include "commands/doctor/doctor.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "runtime/text.hpp"

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

std::string show(const Finding& finding) {
  if (const auto* text = std::get_if<std::string>(&finding.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&finding.value)) return *flag ? "yes" : "no";
  if (const auto* number = std::get_if<double>(&finding.value)) {
    return fmt::format("{:.4g}", *number);
  }
  const int64_t whole = std::get<int64_t>(finding.value);
  return finding.name.ends_with("_bytes") ? size_text(whole) : std::to_string(whole);
}

const char* mark(FindingState state) {
  switch (state) {
    case FindingState::good:
      return "  ";
    case FindingState::absent:
      return "- ";
    case FindingState::missing:
      return "! ";
  }
  return "? ";
}

std::string advice_of(const Findings& findings, FindingState state, const char* title) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.state != state || finding.advice.empty()) continue;
    text += "  " + finding.area + " " + finding.name + ": " + finding.advice + "\n";
  }
  return text.empty() ? text : std::string{title} + "\n" + text;
}

nlohmann::ordered_json list_of(const Findings& findings, FindingState state) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    if (finding.state != state) continue;
    list.push_back({{"area", finding.area}, {"name", finding.name}, {"advice", finding.advice}});
  }
  return list;
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
            "slower or not available without them. Advice for both is listed at the end.\n"
            "Exit codes: 0 nothing is missing, 3 something is.");
        return [json] { return examine(*json); };
      }};
}

std::string to_text(const Findings& findings) {
  std::vector<std::vector<std::string>> rows;
  std::string area;
  for (const Finding& finding : findings) {
    if (finding.area != area) rows.push_back({finding.area});
    area = finding.area;
    rows.push_back({std::string{"  "} + mark(finding.state) + finding.name, show(finding)});
  }
  std::string text = text_table("ll", rows);
  text += advice_of(findings, FindingState::missing, "missing (!): nothing runs without it");
  text += advice_of(findings, FindingState::absent, "absent (-): works without it");
  return text;
}

std::string to_json(const Findings& findings) {
  nlohmann::ordered_json areas = nlohmann::ordered_json::object();
  for (const Finding& finding : findings) {
    std::visit([&](const auto& value) { areas[finding.area][finding.name] = value; },
               finding.value);
  }
  const nlohmann::ordered_json document{{"ok", all_present(findings)},
                                        {"areas", areas},
                                        {"missing", list_of(findings, FindingState::missing)},
                                        {"absent", list_of(findings, FindingState::absent)}};
  // Text from the machine may contain any bytes. Invalid ones are replaced, since dump would throw.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool all_present(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == FindingState::missing;
  });
}

}  // namespace warpsmith::commands

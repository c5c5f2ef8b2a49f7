// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/fault_figures.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

/// Formats one verified set of a verdict's evidence, without anything random.
std::string set_text(const nlohmann::json& set) {
  const auto number = [&](const char* key) { return std::to_string(set.value(key, int64_t{0})); };
  const auto flag = [&](const char* key) {
    return set.value(key, false) ? " " + std::string(key) : "";
  };
  return set.value("distribution", std::string("unnamed")) + ": " + number("wrong") + " wrong, " +
         number("nonfinite") + " not finite of " + number("elements") + flag("inputs_changed") +
         flag("guards_changed");
}

std::vector<std::string> sets_of(const std::string& evidence) {
  const auto json = nlohmann::json::parse(evidence, nullptr, false);
  std::vector<std::string> sets;
  if (!json.is_object() || !json.contains("sets")) return sets;
  for (const auto& set : json["sets"]) sets.push_back(set_text(set));
  std::ranges::sort(sets);
  return sets;
}

}  // namespace

JudgedOutcome judged(const Judgement& judgement) {
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
    return {std::string(to_string(failure->kind)), {}, failure->detail};
  }
  const auto& verdict = std::get<Verdict>(judgement);
  // A verdict that is not correct ends at a random set, so its sets cannot be compared.
  auto sets = verdict.correct() ? sets_of(verdict.evidence) : std::vector<std::string>{};
  return {std::string(to_string(verdict.outcome)), std::move(sets), verdict.feedback};
}

uint64_t Remains::missing_bytes() const {
  const uint64_t before = free_bytes_before.value_or(0), after = free_bytes_after.value_or(0);
  return before > after ? before - after : 0;
}

int64_t FaultFigures::faults() const {
  int64_t sum = 0;
  for (const auto& [name, kind] : kinds) sum += kind.count;
  return sum;
}

int64_t FaultFigures::unexpected() const {
  int64_t sum = 0;
  for (const auto& [name, kind] : kinds) sum += kind.unexpected;
  return sum;
}

bool FaultFigures::meets_bars() const {
  const bool clean = remains.zombies.empty() && remains.processes.empty() &&
                     remains.groups.empty() && remains.files.empty();
  return honest == honest_equal && struck == struck_equal && unexpected() == 0 && clean &&
         remains.missing_bytes() <= device_slack_bytes;
}

}  // namespace warpsmith::commands

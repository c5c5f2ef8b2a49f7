// SPDX-License-Identifier: Apache-2.0
#include "commands/verdict_words.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sandbox/judge/decision.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// What the evidence says about wrong elements, of a verified set or of timed calls; null if
/// nothing.
json difference_in(const json& evidence) {
  if (!evidence.is_object()) return nullptr;
  json timed = evidence.value(json::json_pointer("/timing/differs"), json());
  if (timed.is_object()) return timed;
  for (const char* list : {"sets", "hidden_sets"}) {
    for (const json& set : evidence.value(list, json::array())) {
      if (set.is_object() && set.contains("differs")) return set["differs"];
    }
  }
  return nullptr;
}

std::string value_text(const json& value) {
  if (value.is_number()) return fmt::format("{:.6g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : "not written";
}

}  // namespace

std::string class_words(const Verdict& verdict) {
  const bool on_cpu = verdict.outcome == VerdictClass::device_fault &&
                      verdict.feedback.starts_with(sandbox::crash_words);
  return std::string(on_cpu ? sandbox::crash_words : to_string(verdict.outcome));
}

std::string failure_words(InfraKind kind) {
  return kind == InfraKind::task_refused ? "task refused" : std::string(to_string(kind));
}

std::string wrong_element_text(const std::string& evidence) {
  const json differs = difference_in(json::parse(evidence, nullptr, /*allow_exceptions=*/false));
  if (!differs.is_object()) return {};
  std::string out = fmt::format("{} is {}, expected {}", differs.value("first", ""),
                                value_text(differs.value("got", json())),
                                value_text(differs.value("expected", json())));
  const json number = differs.value("likely_number", json());
  return number.is_number() ? out + fmt::format(" (factor or offset: {:.6g})", number.get<double>())
                            : out;
}

std::string one_core_text(const std::string& contract) {
  return "contract " + contract +
         " times one core: the kernel, eager and torch.compile each run on one thread";
}

}  // namespace warpsmith::commands

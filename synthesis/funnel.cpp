// SPDX-License-Identifier: Apache-2.0
#include "synthesis/funnel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/json_text.hpp"

namespace warpsmith::synthesis {
namespace {

using Json = nlohmann::json;

constexpr size_t most_reasons = 4;  // in a line

/// The frequent reasons first; equal ones by name.
std::vector<std::pair<std::string, uint64_t>> by_count(const Funnel& funnel) {
  std::vector<std::pair<std::string, uint64_t>> all(funnel.rejected.begin(), funnel.rejected.end());
  std::ranges::stable_sort(all, std::greater{}, &std::pair<std::string, uint64_t>::second);
  return all;
}

}  // namespace

void Funnel::add(const Composition& composition) {
  ++candidates;
  composition.accepted() ? ++accepted : ++rejected[composition.reason];
  for (const auto& [step, value] : composition.steps) seconds[step] += value;
}

std::string line_of(const Funnel& funnel) {
  std::string text =
      fmt::format("{} accepted of {} candidates", funnel.accepted, funnel.candidates);
  auto reasons = by_count(funnel);
  if (reasons.size() > most_reasons) reasons.resize(most_reasons);
  for (const auto& [reason, count] : reasons) {
    text += fmt::format("{}{} {}", reason == reasons.front().first ? "; rejected: " : ", ", count,
                        reason);
  }
  return text;
}

std::string to_json(const Funnel& funnel) {
  Json seconds = Json::object();
  for (const auto& [step, value] : funnel.seconds) seconds[step] = std::round(value * 1e3) / 1e3;
  return json_text(Json{{"candidates", funnel.candidates},
                        {"accepted", funnel.accepted},
                        {"rejected", funnel.rejected},
                        {"seconds", seconds}},
                   2);
}

Result<Funnel> parse_funnel(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    return Funnel{json.at("candidates"), json.at("accepted"), json.at("rejected"),
                  json.at("seconds")};
  } catch (const Json::exception& error) {
    return fail(ErrorCode::parse_failed, std::string{"funnel: "} + error.what());
  }
}

}  // namespace warpsmith::synthesis

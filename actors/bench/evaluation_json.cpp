// SPDX-License-Identifier: Apache-2.0
#include "actors/bench/evaluation_json.hpp"

#include <nlohmann/json.hpp>

namespace warpsmith::actors {

nlohmann::json phases_json(const EvaluationFigures& figures) {
  nlohmann::json phases = nlohmann::json::object();
  for (const auto& [name, phase] : figures.phases) {
    phases[name] = {
        {"ms", phase.per_evaluation_ms}, {"median_ms", phase.median_ms}, {"share", phase.share}};
  }
  return phases;
}

nlohmann::json gap_json(const EvaluationFigures& figures) {
  return figures.widest_gap_us ? nlohmann::json(*figures.widest_gap_us) : nlohmann::json();
}

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// Figures of evaluations as the benches write them with --json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "actors/bench/evaluation_rate.hpp"

namespace warpsmith::actors {

/// Of every phase: mean and median milliseconds of an evaluation, and its share of the time.
nlohmann::json phases_json(const EvaluationFigures& figures);

/// Null where nothing was timed by events.
nlohmann::json gap_json(const EvaluationFigures& figures);

}  // namespace warpsmith::actors

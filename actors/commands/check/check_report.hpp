// SPDX-License-Identifier: Apache-2.0
// A judgement for people and for programs. Pure.
#pragma once

#include <string>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// One JSON object; what was not measured is null. Of several shapes the slowest ratio counts.
/// Only what `final` or `profile` was asked for has a reward.
std::string judgement_json(const Judgement& judgement, Request asked = Request::final);

/// A few lines: the verdict with its feedback (times too), speed-ups with their intervals, reward,
/// trust and jail. Of `explain` the explanation alone.
std::string judgement_text(const Judgement& judgement, Request asked = Request::final);

}  // namespace warpsmith::actors

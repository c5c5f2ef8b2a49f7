// SPDX-License-Identifier: Apache-2.0
// A judgement as text and as JSON. Pure.
#pragma once

#include <string>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// One JSON object; values that were not measured are null. Of several shapes it shows the one with
/// the lowest speed-up. Only requests `final` and `profile` have a reward.
std::string judgement_json(const Judgement& judgement, Request request = Request::final);

/// A few lines: the verdict with its feedback (times too), speed-ups with their intervals, reward,
/// trust and jail. For `explain`, only the explanation.
std::string judgement_text(const Judgement& judgement, Request request = Request::final);

}  // namespace warpsmith::commands

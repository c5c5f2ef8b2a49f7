// SPDX-License-Identifier: Apache-2.0
// A judgement as text and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// One JSON object; values that were not measured are null. Of several shapes it shows the one with
/// the lowest speed-up. Only requests `final` and `profile` have a reward.
std::string judgement_json(const Judgement& judgement, Request request = Request::final);

/// A few lines: the verdict with its feedback (times too), speed-ups with their intervals, reward,
/// trust and jail. For `explain`, only the explanation.
std::string judgement_text(const Judgement& judgement, Request request = Request::final);

/// The judgement on one declared shape.
struct JudgedShape {
  std::string function;  // which declares it: "get_inputs"
  Judgement judgement;
};

/// The judgement that stands for all, at least one: the first that is not correct, else the one
/// with the lowest speed-up against eager.
const Judgement& decisive(const std::vector<JudgedShape>& shapes);

/// The JSON of the decisive judgement, with a list of all declared shapes that were judged.
std::string shapes_json(const std::vector<JudgedShape>& shapes, Request request);

/// The texts of all, each after the name of its shape if there are several. `left_out`: shapes that
/// were not judged because one before them is not correct.
std::string shapes_text(const std::vector<JudgedShape>& shapes,
                        const std::vector<std::string>& left_out, Request request);

}  // namespace warpsmith::commands

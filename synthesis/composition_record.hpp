// SPDX-License-Identifier: Apache-2.0
// The composing worker's answers: one JSON object for each candidate.
#pragma once

#include <string_view>

#include "runtime/result.hpp"
#include "synthesis/composition.hpp"

namespace warpsmith::synthesis {

/// Reads an answer: {"index", "reason": null, "row": {"id", "ops", "code", "hash", "eager_ms"}} of
/// an accepted candidate, {"index", "reason", "detail"} of a rejected one, both with {"steps":
/// {NAME: seconds}} if these are known. `parse_failed` names what is missing or wrong.
Result<Composition> parse_composition(std::string_view json);

/// The same in the same form, on one line.
std::string to_json(const Composition& composition);

}  // namespace warpsmith::synthesis

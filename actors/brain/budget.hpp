// SPDX-License-Identifier: Apache-2.0
// Pure: what a run's brain has used, and whether its limits are reached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/config/brain_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Over all incarnations of a run.
struct BrainUsage {
  int64_t requests = 0;    // sent, repeated ones too
  int64_t answers = 0;     // taken
  int64_t tokens_in = 0;   // of prompts, as the endpoint counts them
  int64_t tokens_out = 0;  // of answers
  double cost = 0;         // in the currency of the prices

  bool operator==(const BrainUsage&) const = default;
};

/// Adds an answer at the configured prices.
void charge(BrainUsage& usage, const BrainConfig& prices, int64_t tokens_in, int64_t tokens_out);

/// Names the limit that is reached, as a sentence; empty if another request is allowed.
std::string spent(const BrainConfig& limits, const BrainUsage& usage);

/// "12 requests, 10 answers, 34567 tokens in, 890 out, cost 0.12".
std::string usage_text(const BrainUsage& usage);
std::string to_json(const BrainUsage& usage);
/// `parse_failed` names the field.
Result<BrainUsage> usage_from_json(std::string_view text);

}  // namespace warpsmith::actors

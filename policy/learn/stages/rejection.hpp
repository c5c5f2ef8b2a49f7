// SPDX-License-Identifier: Apache-2.0
// Decides which collected trajectories rejection fine-tuning keeps. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/stage_configs.hpp"
#include "runtime/describe.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith::policy {

struct CallFacts {
  ParsedCall call;
  bool edits = false;  // changes files
};

/// One turn of a trajectory.
struct TurnFacts {
  std::vector<CallFacts> calls;
  bool invalid = false;  // breaks the call syntax, or a call breaks its tool's schema
  std::optional<double>
      verdict;  // rank of the best verdict that it got, higher is better; empty: none
};

/// A closed trajectory.
struct TrajectoryFacts {
  std::string task_id;
  double reward = 0;
  int64_t tokens = 0;  // prompt and results included
  std::vector<TurnFacts> turns;
};

/// Why a trajectory is not kept. The first reason that applies counts.
enum class Rejection : uint8_t {
  reward,         // not above 0
  too_long,       // for sft.context
  invalid_call,   // see InvalidCalls
  no_valid_turn,  // every turn has an invalid call
  repeated_call,  // the same call with the same arguments, without an edit between
  stalled,        // too many turns in a row without a better verdict
  over_limit,     // its task has enough trajectories with a reward at least as high
};
constexpr auto names_of(Rejection) {
  return std::to_array<std::string_view>({"reward", "too_long", "invalid_call", "no_valid_turn",
                                          "repeated_call", "stalled", "over_limit"});
}

/// The result for each trajectory, in the order given: empty if it is kept. `context`: the most
/// tokens of one.
std::vector<std::optional<Rejection>> reject(const std::vector<TrajectoryFacts>& trajectories,
                                             const RftConfig& config, int64_t context);

/// True if a call comes a second time with the same arguments while no call between them changes
/// files.
bool repeats_a_call(const std::vector<TurnFacts>& turns);

/// The largest number of turns in a row of which none got a better verdict than all before.
int64_t longest_stall(const std::vector<TurnFacts>& turns);

}  // namespace warpsmith::policy

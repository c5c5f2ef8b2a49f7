// SPDX-License-Identifier: Apache-2.0
// Pure: the calls of agent.scripted_turns, which a rehearsal with random weights runs.
#pragma once

#include <vector>

#include "runtime/config/agent_config.hpp"
#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The calls of each text. `invalid_config` names a text that is malformed, has no call, or calls a
/// tool that is not in agent.tools.
Result<std::vector<std::vector<ParsedCall>>> scripted_calls(const AgentConfig& agent);

}  // namespace warpsmith::actors

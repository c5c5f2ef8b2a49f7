// SPDX-License-Identifier: Apache-2.0
// The agent's tools as the model is told of them, and the check of a call against them. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// All tools: bash read write edit multi_edit glob grep todo compile verify profile submit.
const std::vector<ToolSchema>& all_tools();

/// The named tools, in the order of `all_tools`. An unknown name is an error that lists the known.
Result<std::vector<ToolSchema>> tools_named(std::span<const std::string> names);

/// Is the tool offered, are all its parameters known and none of the required missing? The message
/// is meant for the agent.
Result<void> check_call(const ParsedCall& call, std::span<const ToolSchema> offered);

/// Does the call change files, so that a workspace is rebuilt by running it again?
bool changes_files(const ParsedCall& call);

}  // namespace warpsmith::sandbox

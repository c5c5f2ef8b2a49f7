// SPDX-License-Identifier: Apache-2.0
// The agent's tools as described to the model, and the check of calls against them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// All tools: bash bash_output kill_bash read write edit multi_edit glob grep todo compile verify
/// profile submit.
const std::vector<ToolSchema>& all_tools();

/// The named tools, in the order of `all_tools`. An unknown name is an error that lists the known
/// ones. Without `bash_output`, `bash` starts no background jobs.
Result<std::vector<ToolSchema>> tools_named(std::span<const std::string> names);

/// Checks that the tool is offered, its parameters are known and no required one is missing. The
/// error is text for the agent.
Result<void> check_call(const ParsedCall& call, std::span<const ToolSchema> offered);

/// Whether the call asks for a background job.
bool starts_job(const ParsedCall& call);
/// Whether repeating the call is needed to rebuild the workspace's files.
bool changes_files(const ParsedCall& call);
/// Whether a new workspace needs the call: it may change files, or makes one known to the tools.
bool needs_repeat(const ParsedCall& call);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/scripted_turns.hpp"

#include <algorithm>

#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::actors {
namespace {

Result<std::vector<ParsedCall>> calls_of(const std::string& text, const AgentConfig& agent) {
  auto turn = policy::parse_turn(text, agent.syntax);
  if (!turn) return fail(ErrorCode::invalid_config, turn.error().message);
  if (turn->calls.empty()) return fail(ErrorCode::invalid_config, "expected a tool call, got none");
  for (const ParsedCall& call : turn->calls) {
    if (std::ranges::find(agent.tools, call.name) != agent.tools.end()) continue;
    return fail(ErrorCode::invalid_config,
                "expected a tool of agent.tools, got \"" + call.name + "\"");
  }
  return std::move(turn->calls);
}

}  // namespace

Result<std::vector<std::vector<ParsedCall>>> scripted_calls(const AgentConfig& agent) {
  std::vector<std::vector<ParsedCall>> script;
  for (const std::string& text : agent.scripted_turns) {
    auto calls = calls_of(text, agent);
    if (!calls) {
      return fail("agent.scripted_turns[" + std::to_string(script.size()) + "]", calls.error());
    }
    script.push_back(std::move(*calls));
  }
  return script;
}

}  // namespace warpsmith::actors

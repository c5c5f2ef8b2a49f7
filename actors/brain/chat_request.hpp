// SPDX-License-Identifier: Apache-2.0
// Pure: the request to a chat endpoint for a trajectory's next turn.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/text/chat_turns.hpp"
#include "runtime/config/brain_config.hpp"
#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// What all requests of a run share.
struct RequestStyle {
  std::string model;
  double temperature = 1;
  bool stream = true;
  BrainTools dialect = BrainTools::native;
  std::vector<ToolSchema> tools;  // none: an answer is files
  ToolSyntax syntax = ToolSyntax::hermes;
  std::string extra;  // a JSON object, merged into each request; empty: nothing
};

/// Fails unless `extra` is empty or a JSON object without the fields that a brain sets itself.
Result<void> check_extra(const std::string& extra);

/// A request as JSON, in parts: the messages alone grow from turn to turn.
struct ChatRequest {
  std::vector<std::string> messages;  // one JSON object each
  std::string rest;                   // a JSON object: all but the messages
  std::string body() const;           // the whole
};

/// `most_tokens`: of the answer. Under the native dialect the tools leave the system message for
/// the field `tools`, and calls of earlier turns for `tool_calls`; a turn whose calls cannot be
/// read, or have another number of results, stays text.
ChatRequest chat_request(std::span<const policy::ChatMessage> messages, const RequestStyle& style,
                         int64_t most_tokens);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// Pure: the answer of a chat endpoint, whole or as a stream of events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

struct AnswerCall {
  std::string name;
  std::string arguments;  // JSON text of an object, or what the model wrote instead
};

struct ChatAnswer {
  std::string content;
  std::string reasoning;  // kept in the record only
  std::vector<AnswerCall> calls;
  std::string finish;                            // "stop", "tool_calls", "length", …
  std::optional<int64_t> tokens_in, tokens_out;  // as the endpoint counts them
};

/// Reads an answer of status 200. Errors: `peer_lost` for a stream that ended too early,
/// `infrastructure` for an error that the stream reports, `parse_failed` for anything else than an
/// answer; its message says what came: "expected JSON, got text/html: <html>…".
Result<ChatAnswer> parse_answer(std::string_view content_type, std::string_view body);

/// The message in the body of a failed request: the endpoint's own if it is JSON in the usual form,
/// else the first 80 characters.
std::string error_text(std::string_view content_type, std::string_view body);

/// The turn as the run's models write it. Arguments that are no JSON object stay as they came; the
/// parser then reports the malformed call to the agent.
std::string turn_text(const ChatAnswer& answer, ToolSyntax syntax);

/// The answer as one JSON object, for the record.
std::string record_of(const ChatAnswer& answer);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// Pure: requests to a chat endpoint for a trajectory's next turn, and its answers, whole or as a
// stream of events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/chat_format.hpp"
#include "runtime/config/brain_config.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The settings shared by all requests of a run.
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

/// A request as JSON, in parts: only the messages grow from turn to turn.
struct ChatRequest {
  std::vector<std::string> messages;  // one JSON object each
  std::string rest;                   // a JSON object: all but the messages
  std::string body() const;           // the whole
};

/// `most_tokens`: of the answer. Under the native dialect, tools move from the system message to
/// the field `tools`, and calls of earlier turns to `tool_calls`; a turn stays text if its calls
/// cannot be read or differ in number from their results.
ChatRequest chat_request(std::span<const policy::ChatMessage> messages, const RequestStyle& style,
                         int64_t most_tokens);

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

/// Reads an answer of status 200. Errors: `peer_lost` for a stream that ended too early or an
/// answer without choices, `parse_failed` for anything other than an answer; its message says what
/// arrived: "expected JSON, got text/html: <html>…".
Result<ChatAnswer> parse_answer(std::string_view content_type, std::string_view body);

/// An error in an answer of status 200: instead of choices, next to them, in one of them, or as an
/// event of a stream.
struct ReportedError {
  int status = 0;  // the HTTP status that its code or type means; 0 if they mean none
  bool in_stream = false;
  std::string message;
};
std::optional<ReportedError> reported_error(std::string_view content_type, std::string_view body);

/// The message in the body of a failed request: the endpoint's own if it is JSON in the usual form,
/// else the first 80 characters.
std::string error_text(std::string_view content_type, std::string_view body);

/// The turn as the run's models write it. Arguments that are not a JSON object are kept unchanged;
/// the parser then reports the malformed call to the agent.
std::string turn_text(const ChatAnswer& answer, ToolSyntax syntax);

/// The answer as one JSON object, for the record.
std::string record_of(const ChatAnswer& answer);

}  // namespace warpsmith::actors

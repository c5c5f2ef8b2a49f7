// SPDX-License-Identifier: Apache-2.0
// Answers of OpenAI's interface as JSON text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands/serve/choice_text.hpp"

namespace warpsmith::commands {

/// What all parts of an answer repeat.
struct AnswerHead {
  Endpoint endpoint = Endpoint::chat;
  std::string id;       // "chatcmpl-…"
  std::string model;    // as the server names it
  int64_t created = 0;  // Unix time in seconds
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

/// How the parts of an answer are written.
struct AnswerRules {
  bool log_probs = false;
  bool include_usage = false;  // then every chunk of a stream has a `usage`, null but in the last
};

/// A whole answer: one delta per choice, each with its end.
std::string answer_body(const AnswerHead& head, const AnswerRules& rules,
                        const std::vector<ChoiceDelta>& choices, const Usage& usage);

/// The first chunk of a chat's choice, which names the role.
std::string role_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice);
/// A chunk of a stream. A delta with calls or an end gets its end in a separate chunk: see
/// `end_chunk`.
std::string delta_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice,
                        const ChoiceDelta& delta);
std::string end_chunk(const AnswerHead& head, const AnswerRules& rules, size_t choice,
                      const std::string& finish);
/// The last chunk, for `stream_options.include_usage`: no choices.
std::string usage_chunk(const AnswerHead& head, const Usage& usage);

/// "data: TEXT\n\n".
std::string sse_event(const std::string& text);
inline constexpr const char* sse_done = "data: [DONE]\n\n";

/// /v1/models and /v1/models/NAME.
std::string models_body(const std::string& model, int64_t created);
std::string model_body(const std::string& model, int64_t created);

}  // namespace warpsmith::commands

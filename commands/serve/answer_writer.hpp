// SPDX-License-Identifier: Apache-2.0
// Makes the answer of one request: whole, or written while it is generated.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands/serve/api_answer.hpp"
#include "commands/serve/generation.hpp"
#include "commands/serve/http_server.hpp"
#include "commands/serve/server_metrics.hpp"

namespace warpsmith::commands {

/// What an answer is written with.
struct AnswerJob {
  AnswerHead head;
  AnswerRules rules;
  std::shared_ptr<Generation> generation;
  ServerMetrics* metrics = nullptr;
  SteadyClock::time_point began;
  Deadline deadline;
};

/// The body of a whole answer, at its end: a failure before that is an error with its status.
/// 499, which no client reads, if the client leaves.
ApiResult<std::string> whole_answer(AnswerJob& job, const std::function<bool()>& is_open);

/// Writes server-sent events as tokens come. An error is the last event.
bool write_events(AnswerJob& job, const HttpStream& out);

}  // namespace warpsmith::commands

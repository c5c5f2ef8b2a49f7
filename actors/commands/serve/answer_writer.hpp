// SPDX-License-Identifier: Apache-2.0
// Writes the answer of one request while it is generated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/commands/serve/api_answer.hpp"
#include "actors/commands/serve/generation.hpp"
#include "actors/commands/serve/http_server.hpp"
#include "actors/commands/serve/server_metrics.hpp"

namespace warpsmith::actors {

/// What an answer is written with.
struct AnswerJob {
  AnswerHead head;
  AnswerRules rules;
  std::shared_ptr<Generation> generation;
  ServerMetrics* metrics = nullptr;
  SteadyClock::time_point began;
  Deadline deadline;
};

/// Waits for the first token, so that an engine that fails before is an error with its status.
ApiResult<void> await_first(AnswerJob& job);

/// Writes the whole answer at its end. False if the client left or the engine ended.
bool write_whole(AnswerJob& job, const HttpStream& out);

/// Writes server-sent events as tokens come. An error is the last event.
bool write_events(AnswerJob& job, const HttpStream& out);

}  // namespace warpsmith::actors

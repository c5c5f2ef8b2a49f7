// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/answer_writer.hpp"

#include <algorithm>
#include <thread>

namespace warpsmith::commands {
namespace {

// Between two looks whether the client is still there.
constexpr std::chrono::milliseconds look{250};

// The least time between two events of a stream, so that the engine wakes fewer threads at a step.
constexpr std::chrono::milliseconds pace{10};

ApiError out_of_time() {
  return {.status = 503,
          .message = "the answer took longer than the server's --request-timeout",
          .code = "timeout",
          .type = "server_error"};
}

ApiResult<bool> advance(AnswerJob& job) {
  if (job.deadline.passed()) return tl::unexpected(out_of_time());
  const bool had_none = job.generation->usage().completion_tokens == 0;
  auto more = job.generation->advance(Deadline::after(std::min(look, job.deadline.left())));
  if (more && *more && had_none) job.metrics->count_first_token(SteadyClock::now() - job.began);
  return more;
}

void count_end(const AnswerJob& job) {
  const Usage usage = job.generation->usage();
  job.metrics->count_tokens(usage.prompt_tokens, usage.completion_tokens);
}

void count_cancelled(const AnswerJob& job) {
  job.metrics->count_cancelled();
  count_end(job);
}

bool client_left(const AnswerJob& job) {
  count_cancelled(job);
  return false;
}

/// The events of what came since the last call.
std::string new_events(const AnswerJob& job) {
  std::string events;
  auto& choices = job.generation->choices();
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoiceDelta delta = choices[i]->take();
    if (!delta.text.empty() || !delta.calls.empty() || !delta.log_probs.empty()) {
      events += sse_event(delta_chunk(job.head, job.rules, i, delta));
    }
    if (delta.finish) events += sse_event(end_chunk(job.head, job.rules, i, *delta.finish));
  }
  return events;
}

std::string first_events(const AnswerJob& job) {
  std::string events;
  if (job.head.endpoint != Endpoint::chat) return events;
  for (size_t i = 0; i < job.generation->choices().size(); ++i) {
    events += sse_event(role_chunk(job.head, job.rules, i));
  }
  return events;
}

std::string last_events(const AnswerJob& job) {
  std::string events;
  if (job.rules.include_usage) {
    events = sse_event(usage_chunk(job.head, job.generation->usage()));
  }
  return events + sse_done;
}

}  // namespace

ApiResult<std::string> whole_answer(AnswerJob& job, const std::function<bool()>& is_open) {
  while (!job.generation->ended()) {
    const auto more = advance(job);
    if (!more) {
      count_end(job);
      return tl::unexpected(more.error());
    }
    if (is_open()) continue;
    count_cancelled(job);
    return tl::unexpected(ApiError{.status = 499, .message = "the client left"});
  }
  count_end(job);
  std::vector<ChoiceDelta> deltas;
  for (const auto& choice : job.generation->choices()) deltas.push_back(choice->take());
  return answer_body(job.head, job.rules, deltas, job.generation->usage());
}

bool write_events(AnswerJob& job, const HttpStream& out) {
  if (const auto first = first_events(job); !first.empty() && !out.write(first)) {
    return client_left(job);
  }
  while (!job.generation->ended()) {
    const auto more = advance(job);
    const auto next = SteadyClock::now() + pace;
    if (!more) {
      count_end(job);
      return out.write(sse_event(error_body(more.error())));
    }
    const std::string events = new_events(job);
    const bool there = events.empty() ? out.is_open() : out.write(events);
    if (!there) return client_left(job);
    if (!job.generation->ended()) std::this_thread::sleep_until(next);
  }
  count_end(job);
  return out.write(last_events(job));
}

}  // namespace warpsmith::commands

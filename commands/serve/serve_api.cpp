// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/serve_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <random>
#include <thread>
#include <utility>

#include "runtime/http/http_token.hpp"

namespace warpsmith::commands {
namespace {

// --- the answer of one request: whole, or written while it is generated

struct AnswerJob {
  AnswerHead head;
  AnswerRules rules;
  std::shared_ptr<Generation> generation;
  ServerMetrics* metrics = nullptr;
  SteadyClock::time_point began;
  Deadline deadline;
};

/// How often to check whether the client is still connected.
constexpr std::chrono::milliseconds client_poll{250};

/// The least time between two events of a stream, so that a step of the engine wakes fewer threads.
constexpr std::chrono::milliseconds event_gap{10};

ApiError timed_out() {
  return {.status = 503,
          .message = "the answer took longer than the server's --request-timeout",
          .code = "timeout",
          .type = "server_error"};
}

ApiResult<bool> advance(AnswerJob& job) {
  if (job.deadline.passed()) return tl::unexpected(timed_out());
  const bool had_none = job.generation->usage().completion_tokens == 0;
  auto more = job.generation->advance(Deadline::after(std::min(client_poll, job.deadline.left())));
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

// The body of a whole answer, at its end: a failure before that is an error with its status.
// 499, which no client reads, if the client leaves.
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

// Writes server-sent events as tokens come. An error is the last event.
bool write_events(AnswerJob& job, const HttpStream& out) {
  if (const auto first = first_events(job); !first.empty() && !out.write(first)) {
    return client_left(job);
  }
  while (!job.generation->ended()) {
    const auto more = advance(job);
    const auto next = SteadyClock::now() + event_gap;
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

// --- the paths

const std::string models_path = "/v1/models";

std::string new_nonce() {
  std::random_device device;
  return fmt::format("{:016x}", (uint64_t{device()} << 32U) | device());
}

HttpResponse response_of(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = error_body(error)};
  if (error.retry_after_s > 0) {
    response.headers["Retry-After"] = std::to_string(error.retry_after_s);
  }
  return response;
}

std::string header(const ServedRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string{} : found->second;
}

/// Compares all bytes, so that the time reveals nothing about the token.
bool equal_secrets(const std::string& a, const std::string& b) {
  unsigned char differ = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    differ = static_cast<unsigned char>(differ | (a[i] ^ other));
  }
  return differ == 0;
}

/// The token of "Authorization: Bearer TOKEN"; the scheme is a token of HTTP, the rest is not.
std::string bearer_token(const ServedRequest& request) {
  const std::string given = header(request, "authorization");
  const size_t space = given.find(' ');
  if (space == std::string::npos || http_token(given.substr(0, space)) != "bearer") return {};
  return given.substr(std::min(given.find_first_not_of(' ', space), given.size()));
}

ApiError no_such_model(const std::string& asked, const std::string& served) {
  return {.status = 404,
          .message = "model: this server has \"" + served + "\", got \"" + asked + "\"",
          .param = "model",
          .code = "model_not_found"};
}

/// A web page can make a browser post plain text to this machine, but not JSON.
ApiResult<void> check_content_type(const ServedRequest& request) {
  if (media_type(header(request, "content-type")) == "application/json") return {};
  return tl::unexpected<ApiError>{
      {.status = 415, .message = "expected Content-Type: application/json"}};
}

std::string label_of(const ServedRequest& request) {
  for (const char* path :
       {"/v1/chat/completions", "/v1/completions", "/v1/models", "/health", "/metrics"}) {
    if (request.path == path) return path;
  }
  return request.path.starts_with(models_path + "/") ? models_path : "other";
}

}  // namespace

ServeApi::ServeApi(ServedText text, ServeOptions options, EngineLoop& loop)
    : text_(std::move(text)),
      options_(std::move(options)),
      loop_(loop),
      created_(static_cast<int64_t>(std::time(nullptr))),
      nonce_(new_nonce()) {}

HttpResponse ServeApi::handle(const ServedRequest& request) {
  const auto began = SteadyClock::now();
  HttpResponse response = route(request);
  const std::string label = label_of(request);
  if (!response.stream) {
    metrics_.count_request(label, response.status, SteadyClock::now() - began);
    return response;
  }
  response.stream = [this, label, began, status = response.status,
                     write = std::move(response.stream)](const HttpStream& out) {
    const bool whole = write(out);
    metrics_.count_request(label, status, SteadyClock::now() - began);
    return whole;
  };
  return response;
}

HttpResponse ServeApi::route(const ServedRequest& request) {
  const std::string& path = request.path;
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (get && path == "/health") return health();
  if (!options_.token.empty() && !equal_secrets(bearer_token(request), options_.token)) {
    return response_of({.status = 401,
                        .message = "expected the server's token as Authorization: Bearer TOKEN",
                        .code = "invalid_api_key",
                        .type = "authentication_error"});
  }
  if (get && path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4", .body = metrics_.text(loop_.status())};
  }
  if (get && path == models_path) return {.body = models_body(text_.name, created_)};
  if (get && path.starts_with(models_path + "/")) return model(path.substr(models_path.size() + 1));
  if (!get && path == "/v1/chat/completions") return generate(Endpoint::chat, request);
  if (!get && path == "/v1/completions") return generate(Endpoint::completions, request);
  return response_of({.status = 404,
                      .message = "no " + request.method + " " + path +
                                 "; this server has POST /v1/chat/completions, POST "
                                 "/v1/completions, GET /v1/models, GET /health, GET /metrics",
                      .code = "not_found"});
}

HttpResponse ServeApi::health() const {
  const LoopStatus status = loop_.status();
  if (!status.failure.empty()) return {.status = 503, .body = R"({"status":"failed"})"};
  if (status.stuck) return {.status = 503, .body = R"({"status":"stuck"})"};
  return {.body = R"({"status":"ok"})"};
}

HttpResponse ServeApi::model(const std::string& name) const {
  if (name == text_.name) return {.body = model_body(text_.name, created_)};
  return response_of(no_such_model(name, text_.name));
}

HttpResponse ServeApi::generate(Endpoint endpoint, const ServedRequest& request) {
  auto response = answer(endpoint, request);
  return response ? std::move(*response) : response_of(response.error());
}

ApiResult<HttpResponse> ServeApi::answer(Endpoint endpoint, const ServedRequest& request) {
  TRY_VOID(check_content_type(request));
  TRY(auto parsed, parse_request(endpoint, request.body, text_.syntax));
  if (parsed.model != text_.name) {
    return tl::unexpected(no_such_model(parsed.model, text_.name));
  }
  const bool streams = parsed.stream;
  const AnswerRules rules{parsed.log_probs, parsed.include_usage};
  TRY(auto generation, Generation::start(std::move(parsed), text_, loop_));
  auto job = std::make_shared<AnswerJob>(AnswerJob{new_head(endpoint), rules, std::move(generation),
                                                   &metrics_, SteadyClock::now(),
                                                   Deadline::after(options_.request_budget)});
  if (!streams) {
    TRY(auto body, whole_answer(*job, request.is_open));
    return HttpResponse{.body = std::move(body)};
  }
  HttpResponse response{.content_type = "text/event-stream"};
  response.headers["Cache-Control"] = "no-cache";
  response.stream = [job](const HttpStream& out) { return write_events(*job, out); };
  return response;
}

AnswerHead ServeApi::new_head(Endpoint endpoint) {
  const std::string kind = endpoint == Endpoint::chat ? "chatcmpl-" : "cmpl-";
  return {.endpoint = endpoint,
          .id = fmt::format("{}{}{:016x}", kind, nonce_, next_id_++),
          .model = text_.name,
          .created = static_cast<int64_t>(std::time(nullptr))};
}

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/serve_api.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <random>
#include <utility>

#include "commands/serve/answer_writer.hpp"

namespace warpsmith::commands {
namespace {

const std::string models_path = "/v1/models";

std::string hex(uint64_t value) {
  std::array<char, 17> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx",
                      static_cast<unsigned long long>(value));  // NOLINT(google-runtime-int)
  return text.data();
}

std::string new_nonce() {
  std::random_device device;
  return hex((uint64_t{device()} << 32U) | device());
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

/// Compares all bytes, so that the time tells nothing about the token.
bool equal_secrets(const std::string& a, const std::string& b) {
  unsigned char differ = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    differ = static_cast<unsigned char>(differ | (a[i] ^ other));
  }
  return differ == 0;
}

ApiError no_such_model(const std::string& asked, const std::string& served) {
  return {.status = 404,
          .message = "model: this server has \"" + served + "\", got \"" + asked + "\"",
          .param = "model",
          .code = "model_not_found"};
}

/// A web page can make a browser post plain text to this machine, but not JSON.
ApiResult<void> check_content_type(const ServedRequest& request) {
  if (header(request, "content-type").starts_with("application/json")) return {};
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
  if (!options_.token.empty() &&
      !equal_secrets(header(request, "authorization"), "Bearer " + options_.token)) {
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
  if (auto json = check_content_type(request); !json) return tl::unexpected(json.error());
  auto parsed = parse_request(endpoint, request.body, text_.syntax);
  if (!parsed) return tl::unexpected(parsed.error());
  if (parsed->model != text_.name) {
    return tl::unexpected(no_such_model(parsed->model, text_.name));
  }
  const bool streams = parsed->stream;
  AnswerRules rules{parsed->tools, parsed->log_probs, parsed->include_usage};
  auto generation = Generation::start(std::move(*parsed), text_, loop_);
  if (!generation) return tl::unexpected(generation.error());
  auto job = std::make_shared<AnswerJob>(
      AnswerJob{new_head(endpoint), std::move(rules), std::move(*generation), &metrics_,
                SteadyClock::now(), Deadline::after(options_.request_budget)});
  if (!streams) {
    auto body = whole_answer(*job, request.is_open);
    if (!body) return tl::unexpected(std::move(body.error()));
    return HttpResponse{.body = std::move(*body)};
  }
  HttpResponse response{.content_type = "text/event-stream"};
  response.headers["Cache-Control"] = "no-cache";
  response.stream = [job](const HttpStream& out) { return write_events(*job, out); };
  return response;
}

AnswerHead ServeApi::new_head(Endpoint endpoint) {
  const std::string kind = endpoint == Endpoint::chat ? "chatcmpl-" : "cmpl-";
  return {.endpoint = endpoint,
          .id = kind + nonce_ + hex(next_id_++),
          .model = text_.name,
          .created = static_cast<int64_t>(std::time(nullptr))};
}

}  // namespace warpsmith::commands

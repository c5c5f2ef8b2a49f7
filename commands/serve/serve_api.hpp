// SPDX-License-Identifier: Apache-2.0
// The server's paths: /v1/chat/completions, /v1/completions, /v1/models, /health, /metrics; and the
// answers, whole or as a stream of events.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "commands/serve/api_answer.hpp"
#include "commands/serve/engine_loop.hpp"
#include "commands/serve/generation.hpp"
#include "commands/serve/http_server.hpp"
#include "commands/serve/served_text.hpp"
#include "commands/serve/server_metrics.hpp"

namespace warpsmith::commands {

struct ServeOptions {
  std::string token;                           // expected as "Authorization: Bearer …"; empty: none
  std::chrono::seconds request_budget{3'600};  // from a request to the end of its answer
};

/// Thread-safe. References must outlive it, and it must outlive the answers being written.
class ServeApi {
 public:
  ServeApi(ServedText text, ServeOptions options, EngineLoop& loop);

  HttpResponse handle(const ServedRequest& request);

 private:
  HttpResponse route(const ServedRequest& request);
  HttpResponse health() const;
  HttpResponse model(const std::string& name) const;
  HttpResponse generate(Endpoint endpoint, const ServedRequest& request);
  ApiResult<HttpResponse> answer(Endpoint endpoint, const ServedRequest& request);
  AnswerHead new_head(Endpoint endpoint);

  const ServedText text_;
  const ServeOptions options_;
  EngineLoop& loop_;
  ServerMetrics metrics_;
  const int64_t created_;
  const std::string nonce_;  // makes ids of two starts differ
  std::atomic<uint64_t> next_id_ = 1;
};

}  // namespace warpsmith::commands

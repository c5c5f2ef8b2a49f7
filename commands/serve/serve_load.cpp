// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/serve_load.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/median.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::seconds stream_timeout{300};  // without a byte

/// One stream's result.
struct StreamEnd {
  int64_t tokens = 0;
  double first_token = 0;
  std::string error;
};

std::string body_of(const ServeLoad& load, const std::vector<int32_t>& prompt) {
  return nlohmann::json{{"model", load.model},
                        {"prompt", prompt},
                        {"max_tokens", load.new_tokens},
                        {"seed", 1},
                        {"ignore_eos", true},
                        {"stream", true},
                        {"stream_options", {{"include_usage", true}}}}
      .dump();
}

/// The usage in a stream's last event; `tail` is the end of the stream.
std::optional<int64_t> tokens_in(const std::string& tail) {
  const size_t done = tail.rfind("data: [DONE]");
  if (done == std::string::npos) return std::nullopt;
  const size_t last = tail.rfind("data: {", done);
  if (last == std::string::npos) return std::nullopt;
  const auto event = nlohmann::json::parse(tail.substr(last + 6, done - last - 6), nullptr, false);
  if (event.is_discarded() || !event.contains("usage")) return std::nullopt;
  return event["usage"].value("completion_tokens", int64_t{0});
}

StreamEnd run_stream(const ServeLoad& load, const std::vector<int32_t>& prompt) {
  constexpr size_t tail_bytes = 4096;
  httplib::Client client(load.host, load.port);
  client.set_tcp_nodelay(true);
  client.set_read_timeout(stream_timeout);
  StreamEnd end;
  std::string tail;
  const auto began = SteadyClock::now();
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = body_of(load, prompt);
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    if (end.first_token == 0) {
      end.first_token = std::chrono::duration<double>(SteadyClock::now() - began).count();
    }
    tail.append(data, size);
    if (tail.size() > 2 * tail_bytes) tail.erase(0, tail.size() - tail_bytes);
    return true;
  };
  const auto answer = client.send(request);
  if (!answer) {
    end.error = httplib::to_string(answer.error());
  } else if (const auto tokens = tokens_in(tail); answer->status == 200 && tokens) {
    end.tokens = *tokens;
  } else {
    end.error = fmt::format("status {}: {}", answer->status, tail);
  }
  return end;
}

}  // namespace

Result<ServeLoadReport> run_serve_load(const ServeLoad& load) {
  std::vector<StreamEnd> ends(load.prompts.size());
  const auto began = SteadyClock::now();
  {
    std::vector<std::jthread> streams;
    streams.reserve(ends.size());
    for (size_t i = 0; i < ends.size(); ++i) {
      streams.emplace_back([&, i] { ends[i] = run_stream(load, load.prompts[i]); });
    }
  }
  ServeLoadReport report;
  report.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  std::vector<double> firsts;
  for (const StreamEnd& end : ends) {
    if (!end.error.empty()) {
      return fail(ErrorCode::infrastructure, "bench serve: a stream failed: " + end.error);
    }
    report.tokens += end.tokens;
    firsts.push_back(end.first_token);
  }
  report.first_token_median = median(firsts);
  return report;
}

}  // namespace warpsmith::commands

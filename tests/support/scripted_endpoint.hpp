// SPDX-License-Identifier: Apache-2.0
// A chat endpoint on loopback that answers by a script.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace warpsmith::test_support {

/// Whether a reply is whole, or ends before its end.
enum class Ending { whole, cut };

struct ScriptedReply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  httplib::Headers headers;
  std::chrono::milliseconds delay{0};
  Ending ending = Ending::whole;
};

/// A completion as one JSON object. `calls`: pairs of a name and the JSON text of its arguments.
inline ScriptedReply completion(const std::string& content,
                                const std::vector<std::pair<std::string, std::string>>& calls = {},
                                const std::string& finish = "stop") {
  nlohmann::json message{{"role", "assistant"}, {"content", content}};
  for (const auto& [name, arguments] : calls) {
    message["tool_calls"].push_back({{"id", "x"},
                                     {"type", "function"},
                                     {"function", {{"name", name}, {"arguments", arguments}}}});
  }
  ScriptedReply reply;
  reply.body =
      nlohmann::json{{"choices", {{{"index", 0}, {"message", message}, {"finish_reason", finish}}}},
                     {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}}
          .dump();
  return reply;
}

/// The same as a stream of events, with the content in pieces of `piece` bytes.
inline ScriptedReply stream(const std::string& content, size_t piece = 7) {
  ScriptedReply reply;
  reply.type = "text/event-stream";
  const auto event = [&reply](const nlohmann::json& json) {
    reply.body += "data: " + json.dump() + "\n\n";
  };
  for (size_t at = 0; at < content.size(); at += piece) {
    event({{"choices", {{{"index", 0}, {"delta", {{"content", content.substr(at, piece)}}}}}}});
  }
  event({{"choices",
          {{{"index", 0}, {"delta", nlohmann::json::object()}, {"finish_reason", "stop"}}}}});
  event({{"choices", nlohmann::json::array()},
         {"usage", {{"prompt_tokens", 100}, {"completion_tokens", 10}}}});
  reply.body += "data: [DONE]\n\n";
  return reply;
}

/// Answers each POST to /v1/chat/completions with what the script returns for it.
class ScriptedEndpoint {
 public:
  using Script = std::function<ScriptedReply(const nlohmann::json& request, int nth)>;

  explicit ScriptedEndpoint(Script script) : script_(std::move(script)) {
    server_.Post("/v1/chat/completions",
                 [this](const httplib::Request& request, httplib::Response& response) {
                   handle(request, response);
                 });
    port_ = server_.bind_to_any_port("127.0.0.1");
    if (port_ <= 0) throw std::runtime_error("no free port on loopback");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ScriptedEndpoint(const ScriptedEndpoint&) = delete;
  ScriptedEndpoint& operator=(const ScriptedEndpoint&) = delete;
  ~ScriptedEndpoint() {
    ending_ = true;
    server_.stop();
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  /// The bodies of the requests so far, and the value of their header Authorization.
  std::vector<nlohmann::json> requests() const {
    const std::scoped_lock lock{mutex_};
    return requests_;
  }
  std::vector<std::string> keys() const {
    const std::scoped_lock lock{mutex_};
    return keys_;
  }

 private:
  void handle(const httplib::Request& request, httplib::Response& response) {
    const auto body = nlohmann::json::parse(request.body, nullptr, /*allow_exceptions=*/false);
    int nth = 0;
    {
      const std::scoped_lock lock{mutex_};
      nth = static_cast<int>(requests_.size());
      requests_.push_back(body);
      keys_.push_back(request.get_header_value("Authorization"));
    }
    const ScriptedReply reply = script_(body, nth);
    const auto until = std::chrono::steady_clock::now() + reply.delay;
    while (std::chrono::steady_clock::now() < until && !ending_) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    response.status = reply.status;
    response.headers.insert(reply.headers.begin(), reply.headers.end());
    if (reply.ending == Ending::whole) return response.set_content(reply.body, reply.type.c_str());
    response.set_chunked_content_provider(
        reply.type.c_str(), [text = reply.body](size_t /*offset*/, httplib::DataSink& sink) {
          sink.write(text.data(), text.size() / 2);
          return false;  // ends the connection without the last chunk
        });
  }

  Script script_;
  httplib::Server server_;
  int port_ = 0;
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::vector<nlohmann::json> requests_;
  std::vector<std::string> keys_;
  std::thread thread_;
};

}  // namespace warpsmith::test_support

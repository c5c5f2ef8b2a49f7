// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol's server side: its methods, and which tool calls run. Tools run on one
// thread, one call after another; the others wait in a bounded queue.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "commands/mcp/json_rpc.hpp"

namespace warpsmith::commands {

/// What a tool answers: text for the model, and the same as a JSON object for programs.
struct McpAnswer {
  std::string text;
  std::string structured = "{}";
  bool is_error = false;  // the call failed; the text says why
};

/// Connects a running call with its client: progress to it, a cancellation from it.
class CallControl {
 public:
  explicit CallControl(std::function<void(const std::string&)> progress)
      : progress_(std::move(progress)) {}

  /// Sends the client a line of progress, if it asked for that.
  void progress(const std::string& line) const { progress_(line); }
  /// Sets the function that ends the work in progress; it is called at once if the call is already
  /// cancelled. It must not block.
  void on_cancel(std::function<void()> end);
  void cancel();
  bool cancelled() const;

 private:
  std::function<void(const std::string&)> progress_;
  mutable std::mutex mutex_;
  std::function<void()> end_;
  bool cancelled_ = false;
};

struct McpTool {
  std::string name, about;
  std::string input_schema;  // JSON
  /// `arguments` is an object. An exception becomes an error of the call.
  std::function<McpAnswer(const nlohmann::json& arguments, CallControl&)> run;
};

class McpSession {
 public:
  /// `write` sends one line; it is called by several threads, one at a time.
  McpSession(std::vector<McpTool> tools, std::function<void(const std::string&)> write);
  /// Stops.
  ~McpSession();
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;

  /// Handles a line of the client; slow work continues in the background.
  void handle(std::string_view line);
  /// Answers a line that was longer than allowed.
  void refuse_long_line(size_t most_bytes);
  /// Waits up to `span` until all calls are answered; returns whether they are.
  bool await_answers(std::chrono::milliseconds span);
  /// Cancels all calls and waits for the running one.
  void stop();

  static constexpr size_t max_waiting_calls = 16;

 private:
  /// Receives the answer of a request, or nothing for a cancelled call.
  using Reply = std::function<void(std::optional<std::string>)>;

  struct Call {
    std::string id;
    Reply reply;
    const McpTool* tool = nullptr;
    std::string arguments;  // JSON
    std::shared_ptr<CallControl> control;
  };

  void send(const std::string& line);
  Reply reply_to_batch(size_t entries);
  void handle_entry(const RpcEntry& entry, const Reply& reply);
  std::optional<RpcError> batch_error() const;
  std::string initialize(const RpcMessage& message);
  void request(const RpcMessage& message, const Reply& reply);
  void notified(const RpcMessage& message);
  Result<Call> read_call(const RpcMessage& message, const Reply& reply);
  void queue_call(const RpcMessage& message, const Reply& reply);
  std::function<void(const std::string&)> progress_sender(const nlohmann::json& meta);
  void run_calls();
  void run_call(const Call& call);

  const std::vector<McpTool> tools_;
  const std::function<void(const std::string&)> write_;
  std::mutex write_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string version_;  // agreed on; empty before `initialize`. Of the thread that handles lines
  std::deque<Call> waiting_;
  std::shared_ptr<const Call> running_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace warpsmith::commands

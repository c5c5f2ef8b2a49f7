// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/mcp_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "runtime/environment.hpp"
#include "runtime/log.hpp"
#include "runtime/message_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> versions{"2025-11-25", "2025-06-18", "2025-03-26",
                                              "2024-11-05"};

const char* const instructions =
    "A judge of compute kernels. Begin with list_tasks, which shows what can be solved, and "
    "read_task, which answers all that is needed to solve one: the PyTorch module to replace, its "
    "tensors, the entry point, how a solution is built, the rules, and the arguments of a submit "
    "call to fill in. verify says whether a solution is correct, check also how fast it is, submit "
    "is the final verdict and is counted. Give a solution as a folder or as files. explain_plan "
    "reads a launch plan of contract device.";

/// Only this one has batches of messages.
constexpr const char* version_with_batches = "2025-03-26";

/// A member that is a string, or empty if it is absent.
Result<std::string> text_member(const json& params, const char* name) {
  if (!params.contains(name)) return std::string{};
  if (params[name].is_string()) return params[name].get<std::string>();
  return json_misfit(name, "a string", params[name]);
}

/// The client's version of the protocol if this server knows it, else the newest that it knows.
std::string agreed_version(const std::string& asked) {
  const auto* found = std::ranges::find(versions, asked);
  return found == versions.end() ? versions.front() : *found;
}

json initialized(const std::string& version) {
  return {{"protocolVersion", version},
          {"capabilities", {{"tools", {{"listChanged", false}}}}},
          {"serverInfo", {{"name", "warpsmith"}, {"version", program_version()}}},
          {"instructions", instructions}};
}

json list_of_tools(const std::vector<McpTool>& tools) {
  json list = json::array();
  for (const McpTool& tool : tools) {
    list.push_back({{"name", tool.name},
                    {"description", tool.about},
                    {"inputSchema", json::parse(tool.input_schema)}});
  }
  return {{"tools", std::move(list)}};
}

json answer_json(const McpAnswer& answer) {
  return {{"content", {{{"type", "text"}, {"text", answer.text}}}},
          {"structuredContent", json::parse(answer.structured)},
          {"isError", answer.is_error}};
}

McpAnswer run_tool(const McpTool& tool, const std::string& arguments, CallControl& control) {
  try {
    return tool.run(json::parse(arguments), control);
  } catch (const std::exception& error) {
    log::error("mcp: tool " + tool.name + ": " + error.what());
    return {.text = "internal error of the tool " + tool.name +
                    "; the standard error of this server says which",
            .is_error = true};
  }
}

}  // namespace

void CallControl::on_cancel(std::function<void()> end) {
  const std::lock_guard lock(mutex_);
  if (cancelled_ && end) end();
  end_ = std::move(end);
}

void CallControl::cancel() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(cancelled_, true) && end_) end_();
}

bool CallControl::cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

McpSession::McpSession(std::vector<McpTool> tools, std::function<void(const std::string&)> write)
    : tools_(std::move(tools)), write_(std::move(write)), worker_([this] { run_calls(); }) {}

McpSession::~McpSession() {
  stop();
}

void McpSession::send(const std::string& line) {
  const std::lock_guard lock(write_mutex_);
  write_(line);
}

void McpSession::handle(std::string_view line) {
  const RpcLine read = read_rpc_line(line);
  if (read.is_batch) {
    if (const auto error = batch_error()) return send(rpc_error(*error));
  }
  const Reply reply = read.is_batch ? reply_to_batch(read.entries.size())
                                    : Reply([this](const std::optional<std::string>& answer) {
                                        if (answer) send(*answer);
                                      });
  for (const RpcEntry& entry : read.entries) handle_entry(entry, reply);
}

/// None if the agreed version of the protocol has batches.
std::optional<RpcError> McpSession::batch_error() const {
  if (version_ == version_with_batches) return std::nullopt;
  const std::string agreed = version_.empty() ? "before initialize" : "of version " + version_;
  return RpcError{RpcCode::invalid_request,
                  fmt::format("a batch of messages: the protocol {} has none; send one message per "
                              "line, or agree on version {}",
                              agreed, version_with_batches)};
}

/// Collects the answers of a batch and sends them once the last of its entries is done.
McpSession::Reply McpSession::reply_to_batch(size_t entries) {
  struct Batch {
    std::mutex mutex;
    size_t left = 0;
    std::vector<std::string> answers;
  };
  const auto batch = std::make_shared<Batch>();
  batch->left = entries;
  return [this, batch](std::optional<std::string> answer) {
    const std::lock_guard lock(batch->mutex);
    if (answer) batch->answers.push_back(std::move(*answer));
    if (--batch->left == 0 && !batch->answers.empty()) send(rpc_batch(batch->answers));
  };
}

/// Calls `reply` once, now or at the end of the call that the entry asks for.
void McpSession::handle_entry(const RpcEntry& entry, const Reply& reply) {
  if (entry.error) return reply(rpc_error(*entry.error));
  if (!entry.message) return reply(std::nullopt);
  if (entry.message->id) return request(*entry.message, reply);
  notified(*entry.message);
  reply(std::nullopt);
}

void McpSession::refuse_long_line(size_t most_bytes) {
  send(rpc_error(
      {RpcCode::invalid_request, fmt::format("a line: expected at most {} bytes", most_bytes)}));
}

std::string McpSession::initialize(const RpcMessage& message) {
  const auto asked = text_member(json::parse(message.params), "protocolVersion");
  if (!asked) {
    return rpc_error(
        {RpcCode::invalid_params, "initialize: " + asked.error().message, *message.id});
  }
  version_ = agreed_version(*asked);
  return rpc_result(*message.id, initialized(version_));
}

void McpSession::request(const RpcMessage& message, const Reply& reply) {
  const std::string& id = *message.id;
  if (message.method == "initialize") return reply(initialize(message));
  if (message.method == "ping") return reply(rpc_result(id, json::object()));
  if (message.method == "tools/list") return reply(rpc_result(id, list_of_tools(tools_)));
  if (message.method == "tools/call") return queue_call(message, reply);
  reply(rpc_error({RpcCode::method_not_found,
                   "no method \"" + message.method + "\"; " +
                       hint_for(message.method, {"initialize", "ping", "tools/list", "tools/call"}),
                   id}));
}

/// Other notifications need no action. A cancelled call is not answered.
void McpSession::notified(const RpcMessage& message) {
  if (message.method != "notifications/cancelled") return;
  const json params = json::parse(message.params);
  if (!params.contains("requestId")) return;
  const std::string id = json_text(params["requestId"]);
  std::vector<Reply> unanswered;
  {
    const std::lock_guard lock(mutex_);
    for (const Call& call : waiting_) {
      if (call.id == id) unanswered.push_back(call.reply);
    }
    std::erase_if(waiting_, [&](const Call& call) { return call.id == id; });
    if (running_ && running_->id == id) running_->control->cancel();
  }
  for (const Reply& reply : unanswered) reply(std::nullopt);
}

/// Reads the parameters of tools/call.
Result<McpSession::Call> McpSession::read_call(const RpcMessage& message, const Reply& reply) {
  const json params = json::parse(message.params);
  TRY(const auto name, text_member(params, "name"));
  const auto tool = std::ranges::find(tools_, name, &McpTool::name);
  if (tool == tools_.end()) {
    std::set<std::string> names;
    for (const McpTool& one : tools_) names.insert(one.name);
    return fail(ErrorCode::invalid_argument, "no tool \"" + name + "\"; " + hint_for(name, names));
  }
  const json arguments = params.value("arguments", json::object());
  if (!arguments.is_object()) return json_misfit("arguments", "an object", arguments);
  const json meta = params.value("_meta", json::object());
  if (!meta.is_object()) return json_misfit("_meta", "an object", meta);
  return Call{*message.id, reply, &*tool, json_text(arguments),
              std::make_shared<CallControl>(progress_sender(meta))};
}

void McpSession::queue_call(const RpcMessage& message, const Reply& reply) {
  auto call = read_call(message, reply);
  if (!call) {
    return reply(rpc_error({RpcCode::invalid_params, call.error().message, *message.id}));
  }
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < max_waiting_calls) {
      waiting_.push_back(std::move(*call));
      changed_.notify_all();
      return;
    }
  }
  reply(rpc_error({RpcCode::busy,
                   fmt::format("{} calls wait already; try again later", max_waiting_calls),
                   *message.id}));
}

/// Sends progress if the client gave a token for it.
std::function<void(const std::string&)> McpSession::progress_sender(const json& meta) {
  const json token = meta.value("progressToken", json());
  if (!token.is_string() && !token.is_number_integer()) return [](const std::string&) {};
  return [this, token, count = std::make_shared<int>(0)](const std::string& line) {
    send(rpc_notification("notifications/progress",
                          {{"progressToken", token}, {"progress", ++*count}, {"message", line}}));
  };
}

void McpSession::run_calls() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, std::chrono::seconds{1},
                      [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    if (waiting_.empty()) continue;
    running_ = std::make_shared<const Call>(std::move(waiting_.front()));
    waiting_.pop_front();
    const auto call = running_;
    lock.unlock();
    run_call(*call);
    lock.lock();
    running_.reset();
    changed_.notify_all();
  }
}

bool McpSession::await_answers(std::chrono::milliseconds span) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, span, [this] { return waiting_.empty() && !running_; });
}

void McpSession::run_call(const Call& call) {
  const McpAnswer answer = run_tool(*call.tool, call.arguments, *call.control);
  call.control->on_cancel(nullptr);
  const bool wanted = !call.control->cancelled();
  call.reply(wanted ? std::optional(rpc_result(call.id, answer_json(answer))) : std::nullopt);
}

void McpSession::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
    if (running_) running_->control->cancel();
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

}  // namespace warpsmith::commands

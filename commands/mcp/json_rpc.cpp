// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/json_rpc.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/json_depth.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

RpcLine error_line(RpcCode code, const std::string& message, const std::string& id = "null") {
  return {.error = RpcError{code, message, id}};
}

bool is_id(const json& id) {
  return id.is_string() || id.is_number_integer();
}

RpcLine read_message(const json& body) {
  const std::string id = body.contains("id") && is_id(body["id"]) ? json_text(body["id"]) : "null";
  if (!body.contains("jsonrpc") || body["jsonrpc"] != "2.0") {
    return error_line(RpcCode::invalid_request, R"(expected "jsonrpc": "2.0")", id);
  }
  const bool is_answer =
      !body.contains("method") && (body.contains("result") || body.contains("error"));
  if (is_answer) return {};
  if (!body.contains("method") || !body["method"].is_string()) {
    return error_line(RpcCode::invalid_request, "method: expected a string", id);
  }
  if (body.contains("id") && !is_id(body["id"])) {
    return error_line(RpcCode::invalid_request, "id: expected a string or a whole number");
  }
  RpcMessage message{.method = body["method"].get<std::string>()};
  if (body.contains("id")) message.id = id;
  if (!body.contains("params")) return {.message = std::move(message)};
  if (!body["params"].is_object()) {
    return error_line(RpcCode::invalid_params, "params: expected an object", id);
  }
  message.params = json_text(body["params"]);
  return {.message = std::move(message)};
}

}  // namespace

/// Moves a whole line out of the buffer.
bool LineReader::take(std::string& line) {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = end == std::string::npos ? buffer_.size() : 0;
  if (end == std::string::npos) return false;
  line = buffer_.substr(0, end);
  if (line.ends_with('\r')) line.pop_back();
  buffer_.erase(0, end + 1);
  return true;
}

LineReader::Status LineReader::next(std::string& line, std::chrono::milliseconds span) {
  if (take(line)) {
    const bool rest = std::exchange(skipping_, false);
    return rest || line.size() > most_ ? Status::too_long : Status::line;
  }
  if (buffer_.size() > most_) {
    buffer_.clear();
    searched_ = 0;
    skipping_ = true;
  }
  pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
  const int polled = ::poll(&ready, 1, static_cast<int>(span.count()));
  if (polled == 0 || (polled < 0 && errno == EINTR)) return Status::nothing;
  std::array<char, 65'536> piece{};
  const ssize_t size = ::read(descriptor_, piece.data(), piece.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return Status::nothing;
  if (size <= 0) return Status::end;
  buffer_.append(piece.data(), static_cast<size_t>(size));
  return Status::nothing;
}

RpcLine read_rpc_line(std::string_view line) {
  JsonDepth depth;
  try {
    const json body = json::parse(line, depth.watch());
    if (depth.exceeded()) return error_line(RpcCode::parse_error, "JSON is nested too deeply");
    if (body.is_array()) return error_line(RpcCode::invalid_request, "batches are not supported");
    if (!body.is_object()) return error_line(RpcCode::invalid_request, "expected an object");
    return read_message(body);
  } catch (const json::exception& error) {
    return error_line(RpcCode::parse_error, error.what());
  }
}

std::string rpc_result(const std::string& id, const json& result) {
  return json_text(json{{"jsonrpc", "2.0"}, {"id", json::parse(id)}, {"result", result}});
}

std::string rpc_error(const RpcError& error) {
  return json_text(
      json{{"jsonrpc", "2.0"},
           {"id", json::parse(error.id)},
           {"error", {{"code", static_cast<int>(error.code)}, {"message", error.message}}}});
}

std::string rpc_notification(const std::string& method, const json& params) {
  return json_text(json{{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

}  // namespace warpsmith::commands

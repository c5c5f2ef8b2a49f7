// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/json_rpc.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/json_depth.hpp"
#include "runtime/received_json.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

RpcEntry error_entry(RpcCode code, const std::string& message, const std::string& id = "null") {
  return {.error = RpcError{code, message, id}};
}

/// A value as JSON, cut to a few words.
std::string shown(const json& value) {
  constexpr size_t most = 60;
  const std::string text = json_text(value);
  return text.size() <= most ? text : text.substr(0, most) + "…";
}

bool is_id(const json& id) {
  return id.is_string() || id.is_number_integer();
}

RpcEntry read_message(json body) {
  if (!body.is_object()) {
    return error_entry(RpcCode::invalid_request,
                       "a message: expected an object, got " + shown(body));
  }
  const bool has_id = body.contains("id");
  const std::string id = has_id && is_id(body["id"]) ? json_text(body["id"]) : "null";
  if (!body.contains("jsonrpc") || body["jsonrpc"] != "2.0") {
    return error_entry(RpcCode::invalid_request, R"(expected "jsonrpc": "2.0")", id);
  }
  const bool is_answer =
      !body.contains("method") && (body.contains("result") || body.contains("error"));
  if (is_answer) return {};
  drop_nulls(body);
  if (!body.contains("method") || !body["method"].is_string()) {
    return error_entry(RpcCode::invalid_request,
                       "method: expected a string, got " + shown(body.value("method", json())), id);
  }
  if (has_id && id == "null") {
    return error_entry(RpcCode::invalid_request, "id: expected a string or a whole number, got " +
                                                     shown(body.value("id", json())));
  }
  RpcMessage message{.method = body["method"].get<std::string>()};
  if (has_id) message.id = id;
  const json params = body.value("params", json::object());
  if (!params.is_object()) {
    if (!has_id) return {};
    return error_entry(RpcCode::invalid_params, "params: expected an object, got " + shown(params),
                       id);
  }
  message.params = json_text(params);
  return {.message = std::move(message)};
}

RpcLine one_error(RpcCode code, const std::string& message) {
  return {.entries = {error_entry(code, message)}};
}

RpcLine read_batch(json body) {
  if (body.empty()) return one_error(RpcCode::invalid_request, "a batch: expected messages");
  RpcLine line{.is_batch = true};
  for (json& message : body) line.entries.push_back(read_message(std::move(message)));
  return line;
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
  if (take(line)) return of_taken(line);
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
  if (size <= 0) return end_of_input(line);
  buffer_.append(piece.data(), static_cast<size_t>(size));
  return Status::nothing;
}

LineReader::Status LineReader::of_taken(const std::string& line) {
  const bool rest = std::exchange(skipping_, false);
  return rest || line.size() > most_ ? Status::too_long : Status::line;
}

/// The last line may have no newline.
LineReader::Status LineReader::end_of_input(std::string& line) {
  if (buffer_.empty() && !skipping_) return Status::end;
  buffer_ += '\n';
  (void)take(line);
  return of_taken(line);
}

RpcLine read_rpc_line(std::string_view line) {
  JsonDepth depth;
  try {
    json body = json::parse(without_lone_surrogates(line), depth.watch());
    if (depth.exceeded()) return one_error(RpcCode::parse_error, "JSON is nested too deeply");
    if (body.is_array()) return read_batch(std::move(body));
    return {.entries = {read_message(std::move(body))}};
  } catch (const json::parse_error& error) {
    return one_error(RpcCode::parse_error,
                     fmt::format("a line: expected a message in JSON; byte {} of the {} is wrong",
                                 error.byte, line.size()));
  } catch (const json::exception&) {
    return one_error(RpcCode::parse_error, "a line: a number is too large for JSON's readers");
  }
}

tl::unexpected<Error> json_misfit(const std::string& name, const std::string& expected,
                                  const json& got) {
  return fail(ErrorCode::invalid_argument, name + ": expected " + expected + ", got " + shown(got));
}

std::string rpc_batch(const std::vector<std::string>& answers) {
  return "[" + fmt::format("{}", fmt::join(answers, ",")) + "]";
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

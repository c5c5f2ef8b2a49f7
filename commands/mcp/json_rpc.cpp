// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/json_rpc.hpp"

#include <nlohmann/json.hpp>

#include "policy/text/json_depth.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

RpcLine wrong(RpcCode code, const std::string& message, const std::string& id = "null") {
  return {.error = RpcError{code, message, id}};
}

bool is_id(const json& id) {
  return id.is_string() || id.is_number_integer();
}

RpcLine read_message(const json& body) {
  const std::string id = body.contains("id") && is_id(body["id"]) ? json_text(body["id"]) : "null";
  if (!body.contains("jsonrpc") || body["jsonrpc"] != "2.0") {
    return wrong(RpcCode::invalid_request, R"(expected "jsonrpc": "2.0")", id);
  }
  const bool is_answer =
      !body.contains("method") && (body.contains("result") || body.contains("error"));
  if (is_answer) return {};
  if (!body.contains("method") || !body["method"].is_string()) {
    return wrong(RpcCode::invalid_request, "method: expected a string", id);
  }
  if (body.contains("id") && !is_id(body["id"])) {
    return wrong(RpcCode::invalid_request, "id: expected a string or a whole number");
  }
  RpcMessage message{.method = body["method"].get<std::string>()};
  if (body.contains("id")) message.id = id;
  if (!body.contains("params")) return {.message = std::move(message)};
  if (!body["params"].is_object()) {
    return wrong(RpcCode::invalid_params, "params: expected an object", id);
  }
  message.params = json_text(body["params"]);
  return {.message = std::move(message)};
}

}  // namespace

RpcLine read_rpc_line(std::string_view line) {
  policy::JsonDepth depth;
  try {
    const json body = json::parse(line, depth.watch());
    if (depth.exceeded()) return wrong(RpcCode::parse_error, "JSON is nested too deeply");
    if (body.is_array()) return wrong(RpcCode::invalid_request, "batches are not supported");
    if (!body.is_object()) return wrong(RpcCode::invalid_request, "expected an object");
    return read_message(body);
  } catch (const json::exception& error) {
    return wrong(RpcCode::parse_error, error.what());
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

// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0, one message per line. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/json_text.hpp"

namespace warpsmith::commands {

/// The codes of JSON-RPC.
enum class RpcCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  busy = -32000,  // of this server: too many calls wait
};

/// A request, or a notification if it has no id. The JSON parts are JSON text.
struct RpcMessage {
  std::optional<std::string> id;  // a string or a whole number
  std::string method;
  std::string params = "{}";  // an object
};

struct RpcError {
  RpcCode code = RpcCode::invalid_request;
  std::string message;
  std::string id = "null";  // of the request, where it is known
};

/// What a line holds: a message, an error to answer with, or nothing to do (an answer to a request,
/// of which this server sends none).
struct RpcLine {
  std::optional<RpcMessage> message;
  std::optional<RpcError> error;
};
RpcLine read_rpc_line(std::string_view line);

/// Lines without their newline. `id` is JSON text.
std::string rpc_result(const std::string& id, const nlohmann::json& result);
std::string rpc_error(const RpcError& error);
std::string rpc_notification(const std::string& method, const nlohmann::json& params);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0, one message per line: reads bounded lines from a file descriptor, parses messages,
// writes answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json_text.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// Reads lines of bounded length from a file descriptor.
class LineReader {
 public:
  enum class Status : uint8_t { line, too_long, nothing, end };

  LineReader(int descriptor, size_t most_bytes) : descriptor_(descriptor), most_(most_bytes) {}

  /// Waits up to `span` for a line; `line` gets it without its newline, which the last line need
  /// not have. `too_long`: a line was skipped. `end`: the input has ended.
  Status next(std::string& line, std::chrono::milliseconds span);

 private:
  bool take(std::string& line);
  Status of_taken(const std::string& line);
  Status end_of_input(std::string& line);

  int descriptor_;
  size_t most_;
  std::string buffer_;
  size_t searched_ = 0;    // bytes of the buffer without a newline
  bool skipping_ = false;  // the rest of a line that is too long
};

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
  std::string id = "null";  // of the request, if it is known
};

/// A message, an error to answer with, or nothing to do: an answer to a request, of which this
/// server sends none, or a notification that is wrong.
struct RpcEntry {
  std::optional<RpcMessage> message;
  std::optional<RpcError> error;
};

/// A line holds one entry, or several as a batch.
struct RpcLine {
  std::vector<RpcEntry> entries;
  bool is_batch = false;
};
/// A null counts as an absent member.
RpcLine read_rpc_line(std::string_view line);

/// "arguments.task: expected a string, got 3": a parameter or an argument of the wrong type.
tl::unexpected<Error> json_misfit(const std::string& name, const std::string& expected,
                                  const nlohmann::json& got);

/// The answers of a batch as one line.
std::string rpc_batch(const std::vector<std::string>& answers);

/// Lines without their newline. `id` is JSON text.
std::string rpc_result(const std::string& id, const nlohmann::json& result);
std::string rpc_error(const RpcError& error);
std::string rpc_notification(const std::string& method, const nlohmann::json& params);

}  // namespace warpsmith::commands

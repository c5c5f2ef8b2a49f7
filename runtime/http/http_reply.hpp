// SPDX-License-Identifier: Apache-2.0
// A request to a web server, its limits, and its reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace warpsmith {

struct HttpLimits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds silence{300'000};  // until the next byte of the reply
  std::chrono::milliseconds whole{900'000};    // from the start to the last byte
  size_t bytes = size_t{16} << 20U;            // of the reply's body
};

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  HttpLimits limits;
};

/// Why a reply is incomplete.
enum class HttpFault : uint8_t {
  none,
  unreachable,  // no connection: name, route or port
  untrusted,    // the server's certificate is not accepted
  timed_out,    // one of the limits
  cut,          // the connection ended too early
  too_long,     // more bytes than the limit
};

struct HttpReply {
  HttpFault fault = HttpFault::none;
  std::string detail;  // of the fault
  int status = 0;      // 0: none arrived
  std::string content_type;
  std::string location;                             // of a redirect, which is not followed
  std::optional<std::chrono::seconds> retry_after;  // the wait that the server requests
  std::string body;                                 // the part that arrived
  std::chrono::milliseconds took{0};
};

}  // namespace warpsmith

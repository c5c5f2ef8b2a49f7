// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server as one function from requests to responses; cpp-httplib does the work.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith::commands {

struct ServedRequest {
  std::string method;  // "GET", "POST"
  std::string path;    // without the query
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  std::function<bool()> is_open;               // whether the client is still there
};

/// The destination of a body that is written piece by piece.
struct HttpStream {
  std::function<bool(std::string_view)> write;  // false once the client is gone
  std::function<bool()> is_open;                // asks the connection, without writing
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers;
  std::string body;
  /// If set, it writes the body instead, in chunks; false breaks the connection off.
  std::function<bool(const HttpStream&)> stream;
};

/// Called by several threads at once. An exception becomes status 500.
using HttpHandler = std::function<HttpResponse(const ServedRequest&)>;

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;                            // 0: any free one
  size_t threads = 16;                     // connections served at once
  size_t waiting = 256;                    // further ones that wait; beyond them: 429
  size_t body_bytes = 16U << 20U;          // a longer body is answered 413
  std::chrono::seconds read_timeout{10};   // without a byte of a request
  std::chrono::seconds body_timeout{60};   // of a whole body; a slower one is answered 408
  std::chrono::seconds write_timeout{20};  // without a byte of an answer taken
  std::chrono::seconds idle_timeout{3};    // of a connection between two requests
};

class HttpServer {
 public:
  /// Binds and listens. `invalid_argument` if the address is not of this machine or is taken.
  static Result<HttpServer> listen(const HttpOptions& options, const HttpHandler& handler);

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  /// Stops.
  ~HttpServer();

  int port() const;
  /// False once it has stopped listening, also by itself.
  bool is_running() const;
  /// Ends streams at their next write, waits for requests being answered, and closes.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// True for "localhost" and addresses that only this machine reaches.
bool is_loopback(const std::string& host);

/// "http://HOST:PORT"; an IPv6 address is put in brackets.
std::string http_address(const std::string& host, int port);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// Sends POST requests, many at once, on a thread that the client owns (libcurl). Certificates are
// checked, redirects are not followed, and nothing is retried.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/http/http_reply.hpp"

namespace warpsmith {

/// The caller bounds the number of requests. Destruction ends those in flight without a reply.
class HttpClient {
 public:
  /// Called with every reply, on the client's thread; must return quickly.
  using Done = std::function<void(uint64_t id, HttpReply reply)>;

  explicit HttpClient(Done done);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// `id` names the request in `Done` and `cancel`; the caller uses each id once. May be called
  /// from any thread.
  void post(uint64_t id, HttpRequest request);
  /// Ends a request without a reply. Has no effect if the reply has just been delivered.
  void cancel(uint64_t id);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace warpsmith

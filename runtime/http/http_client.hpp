// SPDX-License-Identifier: Apache-2.0
// Sends POST requests, many at once, on one thread of its own (libcurl). Certificates are checked,
// redirects are not followed, and nothing is retried.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/http/http_reply.hpp"

namespace warpsmith {

/// The caller bounds the number of requests. Destruction ends those under way without a reply.
class HttpClient {
 public:
  /// Gets every reply, on the client's thread; must return soon.
  using Done = std::function<void(uint64_t id, HttpReply reply)>;

  explicit HttpClient(Done done);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// `id` names the request in `Done` and `cancel`; the caller uses each once. From any thread.
  void post(uint64_t id, HttpRequest request);
  /// Ends a request without a reply. One that has just been replied to stays so.
  void cancel(uint64_t id);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace warpsmith

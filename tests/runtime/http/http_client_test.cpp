// SPDX-License-Identifier: Apache-2.0
#include "runtime/http/http_client.hpp"

#include <gtest/gtest.h>

#include <future>

#include "tests/support/scripted_endpoint.hpp"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test_support::Ending;
using test_support::ScriptedEndpoint;
using test_support::ScriptedReply;

HttpReply post(const std::string& url, HttpLimits limits = {}) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  std::promise<HttpReply> arrived;
  HttpClient client{[&](uint64_t /*id*/, HttpReply reply) { arrived.set_value(std::move(reply)); }};
  client.post(1, {url, {"Content-Type: application/json", "X-Mark: 7"}, "{}", limits});
  auto future = arrived.get_future();
  if (future.wait_for(seconds{20}) != std::future_status::ready) throw std::runtime_error("late");
  return future.get();
}

HttpReply post(const ScriptedEndpoint& endpoint, HttpLimits limits = {}) {
  return post(endpoint.url() + "/chat/completions", limits);
}

TEST(HttpClientTest, ReturnsStatusTypeAndBody) {
  const ScriptedEndpoint endpoint{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{
        .status = 429, .type = "text/html", .body = "<p>", .headers = {{"Retry-After", "7"}}};
  }};
  const HttpReply reply = post(endpoint);
  EXPECT_EQ(reply.fault, HttpFault::none) << reply.detail;
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.content_type, "text/html");
  EXPECT_EQ(reply.body, "<p>");
  EXPECT_EQ(reply.retry_after, seconds{7});
}

TEST(HttpClientTest, ReportsHowARequestFailed) {
  EXPECT_EQ(post("http://127.0.0.1:1/v1").fault, HttpFault::unreachable);
  EXPECT_EQ(post("ftp://127.0.0.1/v1").fault, HttpFault::unreachable);
  const ScriptedEndpoint cut{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{.body = "half and half", .ending = Ending::cut};
  }};
  const HttpReply half = post(cut);
  EXPECT_EQ(half.fault, HttpFault::cut) << half.body;
  const ScriptedEndpoint large{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{.body = std::string(5000, 'x')};
  }};
  EXPECT_EQ(post(large, {.bytes = 4000}).fault, HttpFault::too_long);
}

TEST(HttpClientTest, EndsASilentRequestAtItsLimits) {
  const ScriptedEndpoint slow{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{.body = "late", .delay = seconds{10}};
  }};
  const HttpReply silent = post(slow, {.silence = milliseconds{200}});
  EXPECT_EQ(silent.fault, HttpFault::timed_out);
  EXPECT_EQ(silent.detail, "no data for 0.2 s");
  const HttpReply late = post(slow, {.whole = milliseconds{200}});
  EXPECT_EQ(late.fault, HttpFault::timed_out);
  EXPECT_EQ(late.detail, "not complete after 0.2 s");
}

TEST(HttpClientTest, FollowsNoRedirect) {
  const ScriptedEndpoint endpoint{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{.status = 302, .headers = {{"Location", "http://127.0.0.1:9/other"}}};
  }};
  const HttpReply reply = post(endpoint);
  EXPECT_EQ(reply.status, 302);
  EXPECT_EQ(reply.location, "http://127.0.0.1:9/other");
  EXPECT_EQ(endpoint.requests().size(), 1U);
}

TEST(HttpClientTest, EndsWithRequestsInFlight) {
  const ScriptedEndpoint slow{[](const auto& /*request*/, int /*nth*/) {
    return ScriptedReply{.body = "late", .delay = seconds{10}};
  }};
  bool replied = false;
  {
    HttpClient client{[&](uint64_t /*id*/, const HttpReply& /*reply*/) { replied = true; }};
    for (uint64_t id = 1; id <= 8; ++id) {
      client.post(id, {slow.url() + "/chat/completions", {}, "{}", {}});
    }
    client.cancel(3);
  }
  EXPECT_FALSE(replied);
}

}  // namespace
}  // namespace warpsmith

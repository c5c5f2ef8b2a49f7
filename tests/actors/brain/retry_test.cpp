// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/retry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const Endpoint endpoint{"http://host/v1/chat/completions", "strong", "HOST_KEY"};

HttpReply with_status(int status, std::string body = "", std::string type = "application/json") {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  reply.content_type = std::move(type);
  return reply;
}

HttpReply with_fault(HttpFault fault) {
  HttpReply reply;
  reply.fault = fault;
  reply.detail = "why";
  return reply;
}

TEST(BrainRetryTest, RetriesTransientFailures) {
  for (const int status : {408, 409, 429, 500, 502, 503, 529}) {
    EXPECT_EQ(assess_reply(with_status(status), endpoint, true).action, ReplyAction::retry)
        << status;
  }
  for (const auto fault : {HttpFault::unreachable, HttpFault::timed_out, HttpFault::cut}) {
    EXPECT_EQ(assess_reply(with_fault(fault), endpoint, true).action, ReplyAction::retry);
  }
  const HttpReply cut = with_status(200, "data: {\"choi", "text/event-stream");
  EXPECT_EQ(assess_reply(cut, endpoint, true).action, ReplyAction::retry);
}

TEST(BrainRetryTest, DoesNotRetryPermanentFailures) {
  const ReplyAssessment key =
      assess_reply(with_status(401, R"({"error": {"message": "bad key"}})"), endpoint, true);
  EXPECT_EQ(key.action, ReplyAction::end_run);
  EXPECT_THAT(key.why,
              HasSubstr("401: bad key; check the key in the variable HOST_KEY (brain.key_env)"));
  EXPECT_THAT(assess_reply(with_status(403), {"u", "m", ""}, true).why,
              HasSubstr("no key was sent"));
  EXPECT_THAT(assess_reply(with_status(404), endpoint, true).why,
              HasSubstr("brain.model (\"strong\")"));
  EXPECT_EQ(assess_reply(with_fault(HttpFault::untrusted), endpoint, true).action,
            ReplyAction::end_run);
  HttpReply moved = with_status(301);
  moved.location = "http://other/";
  EXPECT_EQ(assess_reply(moved, endpoint, true).action, ReplyAction::end_run);
  EXPECT_THAT(assess_reply(moved, endpoint, true).why, HasSubstr("redirects to http://other/"));
}

TEST(BrainRetryTest, AnErrorInStatus200IsRetriedByItsCode) {
  const auto action = [](const std::string& body) {
    return assess_reply(with_status(200, body), endpoint, true).action;
  };
  EXPECT_EQ(action(R"({"error": {"message": "x", "code": 429}})"), ReplyAction::retry);
  EXPECT_EQ(action(R"({"choices": [{"message": {"content": null}}], "error": {"code": 429}})"),
            ReplyAction::retry);
  EXPECT_EQ(action(R"({"error": {"message": "x", "code": 400}})"), ReplyAction::fail_turn);
  EXPECT_EQ(action(R"({"error": {"message": "x"}})"), ReplyAction::fail_turn);
  EXPECT_EQ(action(R"({"choices": []})"), ReplyAction::retry);
  const HttpReply key = with_status(
      200, "data: {\"error\": {\"message\": \"x\", \"code\": 401}}\n\n", "text/event-stream");
  EXPECT_EQ(assess_reply(key, endpoint, true).action, ReplyAction::end_run);
  EXPECT_THAT(assess_reply(key, endpoint, true).why, HasSubstr("401: x (in an answer of status"));
}

/// The first request shows whether the configuration is right.
TEST(BrainRetryTest, ARefusalEndsTheRunOnlyBeforeTheFirstAnswer) {
  const HttpReply page = with_status(200, "<html>", "text/html");
  for (const HttpReply& reply :
       {with_status(400), with_status(422), page, with_fault(HttpFault::too_long)}) {
    EXPECT_EQ(assess_reply(reply, endpoint, false).action, ReplyAction::end_run);
    EXPECT_EQ(assess_reply(reply, endpoint, true).action, ReplyAction::fail_turn);
  }
  EXPECT_THAT(
      assess_reply(page, endpoint, false).why,
      HasSubstr("POST http://host/v1/chat/completions: expected JSON, got text/html: <html>"));
}

TEST(BrainRetryTest, WaitsTwiceAsLongEachTime) {
  EXPECT_EQ(wait_before(1, {}, seconds{300}, 0), milliseconds{500});
  EXPECT_EQ(wait_before(2, {}, seconds{300}, 0), milliseconds{1000});
  EXPECT_EQ(wait_before(5, {}, seconds{300}, 0.5), milliseconds{6000});
  EXPECT_EQ(wait_before(100, {}, seconds{300}, 0), milliseconds{60'000});
  EXPECT_EQ(wait_before(100, {}, seconds{10}, 0), milliseconds{10'000});
}

TEST(BrainRetryTest, TheServersWaitTakesPrecedenceWithinTheBound) {
  EXPECT_EQ(wait_before(1, seconds{7}, seconds{300}, 0), seconds{7});
  EXPECT_EQ(wait_before(1, seconds{86'400}, seconds{300}, 0), seconds{300});
  EXPECT_EQ(wait_before(1, seconds::max(), seconds{300}, 0), seconds{300});
}

}  // namespace
}  // namespace warpsmith::actors

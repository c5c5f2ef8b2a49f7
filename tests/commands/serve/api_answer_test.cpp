// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_answer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

using nlohmann::json;

const AnswerHead chat{Endpoint::chat, "chatcmpl-1", "m", 5};
const AnswerHead completion{Endpoint::completions, "cmpl-1", "m", 5};

ChoiceDelta with_call() {
  ChoiceDelta delta;
  delta.calls = {{"f", R"({"a":"5","b":5})"}};
  delta.finish = "tool_calls";
  return delta;
}

TEST(ApiAnswerTest, AChatHasAMessageAndItsUsage) {
  const ChoiceDelta delta{.text = "hi", .finish = "stop"};
  const json body = json::parse(answer_body(chat, {}, {delta}, {3, 2}));
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "hi");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(body["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(body["usage"]["total_tokens"], 5);
}

TEST(ApiAnswerTest, CallsHaveTheirArgumentsAsText) {
  const json body = json::parse(answer_body(chat, {}, {with_call()}, {}));
  const json& message = body["choices"][0]["message"];
  EXPECT_TRUE(message["content"].is_null());
  const json& call = message["tool_calls"][0];
  EXPECT_EQ(call["id"], "call_1_0_0");
  EXPECT_EQ(json::parse(call["function"]["arguments"].get<std::string>()),
            (json{{"a", "5"}, {"b", 5}}));
}

TEST(ApiAnswerTest, ChunksOfAChatNumberTheirCalls) {
  const json chunk = json::parse(delta_chunk(chat, {}, 2, with_call()));
  EXPECT_EQ(chunk["object"], "chat.completion.chunk");
  EXPECT_EQ(chunk["choices"][0]["index"], 2);
  EXPECT_EQ(chunk["choices"][0]["delta"]["tool_calls"][0]["index"], 0);
  EXPECT_FALSE(chunk.contains("usage"));
  EXPECT_TRUE(chunk["choices"][0]["finish_reason"].is_null());
}

TEST(ApiAnswerTest, UsageComesLastIfAskedFor) {
  EXPECT_TRUE(json::parse(role_chunk(chat, {.include_usage = true}, 0))["usage"].is_null());
  const json last = json::parse(usage_chunk(chat, {1, 2}));
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["completion_tokens"], 2);
}

TEST(ApiAnswerTest, LogProbsHaveBytesThatAreNotText) {
  ChoiceDelta delta;
  delta.log_probs = {{"\xE2\x82", -1.5, 7}};
  const AnswerRules rules{.log_probs = true};
  const json of_chat = json::parse(delta_chunk(chat, rules, 0, delta));
  const json& token = of_chat["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(token["bytes"], (json{0xE2, 0x82}));
  EXPECT_EQ(token["token"], "\uFFFD");
  const json older = json::parse(delta_chunk(completion, rules, 0, delta));
  EXPECT_EQ(older["choices"][0]["logprobs"]["token_logprobs"][0], -1.5);
  EXPECT_EQ(older["choices"][0]["logprobs"]["text_offset"][0], 7);
  EXPECT_EQ(older["object"], "text_completion");
}

TEST(ApiAnswerTest, AnErrorHasItsFourMembers) {
  const json error = json::parse(error_body({.message = "no", .param = "n"}))["error"];
  EXPECT_EQ(error["message"], "no");
  EXPECT_EQ(error["param"], "n");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_TRUE(error["code"].is_null());
}

TEST(ApiAnswerTest, AnEventIsOneLine) {
  EXPECT_EQ(sse_event("{}"), "data: {}\n\n");
  const ChoiceDelta delta{.text = "a\nb"};
  EXPECT_EQ(delta_chunk(chat, {}, 0, delta).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

constexpr const char* json_type = "application/json; charset=utf-8";
constexpr const char* stream_type = "text/event-stream";

TEST(ChatAnswerTest, ReadsAWholeAnswer) {
  const auto answer = parse_answer(json_type, R"({"choices": [{"message": {"content": null,
    "reasoning_content": "hm", "tool_calls": [
      {"function": {"name": "read", "arguments": "{\"path\": \"a\"}"}},
      {"function": {"name": "submit", "arguments": {}}}]}, "finish_reason": "tool_calls"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "");
  EXPECT_EQ(answer->reasoning, "hm");
  ASSERT_EQ(answer->calls.size(), 2U);
  EXPECT_EQ(answer->calls[1].name, "submit");
  EXPECT_EQ(answer->finish, "tool_calls");
  EXPECT_EQ(answer->tokens_in, 7);
  EXPECT_EQ(answer->tokens_out, 3);
}

/// Such counts would give a budget back, or overflow it.
TEST(ChatAnswerTest, IgnoresImpossibleCounts) {
  for (const char* count : {"18446744073708551616", "9223372036854775807", "-1", "1.5", "\"7\""}) {
    const auto answer = parse_answer(
        json_type, std::string(R"({"choices": [{"message": {"content": "a"}}], "usage": {)") +
                       R"("prompt_tokens": )" + count + R"(, "completion_tokens": 3}})");
    ASSERT_TRUE(answer) << count;
    EXPECT_FALSE(answer->tokens_in) << count;
    EXPECT_EQ(answer->tokens_out, 3);
  }
}

TEST(ChatAnswerTest, ReadsAStream) {
  const auto answer = parse_answer(
      stream_type,
      ": comment\r\n"
      "data: {\"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": \"He\"}}]}\r\n\r\n"
      "data: {\"choices\": [{\"delta\": {\"content\": \"llo\"}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {\"tool_calls\": [{\"index\": 0, \"function\": {\"name\": "
      "\"re\", \"arguments\": \"{\\\"pa\"}}]}}]}\n\n"
      "data: {\"choices\": [{\"delta\": {\"tool_calls\": [{\"index\": 0, \"function\": {\"name\": "
      "\"ad\", \"arguments\": \"th\\\": 1}\"}}]}, \"finish_reason\": \"tool_calls\"}]}\n\n"
      "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 2}}\n\n"
      "data: [DONE]\n\n");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "Hello");
  ASSERT_EQ(answer->calls.size(), 1U);
  EXPECT_EQ(answer->calls[0].name, "read");
  EXPECT_EQ(answer->calls[0].arguments, "{\"path\": 1}");
  EXPECT_EQ(answer->tokens_in, 5);
}

TEST(ChatAnswerTest, TellsACutStreamFromARefusal) {
  const auto code = [](const char* type, const std::string& body) {
    return parse_answer(type, body).error().code;
  };
  EXPECT_EQ(code(stream_type, "data: {\"choices\": [{\"delta\": {\"content\": \"He\"}}]}\n\n"),
            ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, "data: {\"choices\": [{\"del"), ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, ""), ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, "data: {\"error\": {\"message\": \"busy\"}}\n\n"),
            ErrorCode::infrastructure);
  EXPECT_EQ(code(json_type, "{}"), ErrorCode::parse_failed);
  EXPECT_EQ(code(json_type, "{\"choices\": []}"), ErrorCode::parse_failed);
  EXPECT_EQ(code(json_type, ""), ErrorCode::parse_failed);
}

TEST(ChatAnswerTest, ShowsWhatCameInsteadOfJson) {
  const auto page =
      parse_answer("text/html; charset=utf-8", "<html>\n<b>Sign in" + std::string(500, 'x'));
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("expected JSON, got text/html: <html>\\n<b>Sign in"));
  EXPECT_LT(page.error().message.size(), 130U);
  EXPECT_THAT(parse_answer("", "hello").error().message, HasSubstr("no content type: hello"));
  EXPECT_FALSE(parse_answer(json_type, std::string(100'000, '[')));
}

TEST(ChatAnswerTest, QuotesTheEndpointsOwnMessage) {
  EXPECT_EQ(error_text(json_type, R"({"error": {"message": "too many\nrequests"}})"),
            "too many\\nrequests");
  EXPECT_EQ(error_text(json_type, R"({"error": "no"})"), "no");
  EXPECT_EQ(error_text(json_type, R"({"message": "gone"})"), "gone");
  EXPECT_EQ(error_text("text/plain", "Bad Gateway"), "text/plain: Bad Gateway");
  EXPECT_EQ(error_text("", ""), "no content type: nothing");
}

class TurnTextTest : public testing::TestWithParam<ToolSyntax> {};

TEST_P(TurnTextTest, IsReadByTheRolloutAsTheSameCalls) {
  ChatAnswer answer;
  answer.content = "Plan.";
  answer.calls = {
      {"write", R"({"path": "solution/a.cpp", "content": "int a;\n\"</tool_call>\"\n"})"},
      {"read", R"({"path": "b", "limit": 5, "offset": null})"},
      {"submit", ""}};
  const auto turn = policy::parse_turn(turn_text(answer, GetParam()), GetParam());
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->calls,
            (std::vector<ParsedCall>{
                {"write", {{"path", "solution/a.cpp"}, {"content", "int a;\n\"</tool_call>\"\n"}}},
                {"read", {{"path", "b"}, {"limit", "5"}}},
                {"submit", {}}}));
}

/// The agent gets an error for them, as for any malformed call.
TEST_P(TurnTextTest, MalformedArgumentsStayMalformed) {
  ChatAnswer answer;
  answer.calls = {{"write", "{\"path\": "}};
  EXPECT_FALSE(policy::parse_turn(turn_text(answer, GetParam()), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Syntaxes, TurnTextTest,
                         testing::Values(ToolSyntax::xml, ToolSyntax::hermes));

}  // namespace
}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "actors/brain/chat_completion.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

using nlohmann::json;
using policy::ChatMessage;

constexpr const char* two_calls =
    "Reading.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.cpp\", \"limit\": "
    "5}}\n"
    "</tool_call>\n<tool_call>\n{\"name\": \"compile\", \"arguments\": {}}\n</tool_call>";

RequestStyle style_with(BrainTools dialect) {
  RequestStyle style;
  style.model = "m";
  style.dialect = dialect;
  style.tools = sandbox::all_tools();
  return style;
}

std::vector<ChatMessage> conversation(const RequestStyle& style) {
  return {{"system", "Rules.\n" + policy::tools_prompt(style.tools, style.syntax)},
          {"user", "Task"},
          {"assistant", two_calls},
          {"tool", "text of a.cpp"},
          {"tool", "compiled"},
          {"assistant", "<tool_call>\n{broken\n</tool_call>"},
          {"tool", "error: malformed"}};
}

json request_of(const RequestStyle& style) {
  return json::parse(chat_request(conversation(style), style, 300).body());
}

TEST(ChatRequestTest, NativeRequestsHaveToolsAndCallsInFields) {
  const json request = request_of(style_with(BrainTools::native));
  EXPECT_EQ(request["model"], "m");
  EXPECT_EQ(request["max_tokens"], 300);
  EXPECT_EQ(request["stream"], true);
  EXPECT_EQ(request["tools"].size(), sandbox::all_tools().size());
  const json& messages = request["messages"];
  EXPECT_EQ(messages[0], (json{{"role", "system"}, {"content", "Rules.\n"}}));
  const json& turn = messages[2];
  EXPECT_EQ(turn["content"], "Reading.\n\n");
  ASSERT_EQ(turn["tool_calls"].size(), 2U);
  EXPECT_EQ(turn["tool_calls"][0]["function"]["name"], "read");
  EXPECT_EQ(json::parse(turn["tool_calls"][0]["function"]["arguments"].get<std::string>()),
            (json{{"limit", 5}, {"path", "a.cpp"}}));
  EXPECT_EQ(messages[3], (json{{"role", "tool"},
                               {"tool_call_id", turn["tool_calls"][0]["id"]},
                               {"content", "text of a.cpp"}}));
  EXPECT_EQ(messages[4]["tool_call_id"], turn["tool_calls"][1]["id"]);
}

TEST(ChatRequestTest, ATurnThatCannotBeReadStaysText) {
  const json request = request_of(style_with(BrainTools::native));
  const json& messages = request["messages"];
  EXPECT_EQ(messages[5],
            (json{{"role", "assistant"}, {"content", "<tool_call>\n{broken\n</tool_call>"}}));
  EXPECT_EQ(
      messages[6],
      (json{{"role", "user"}, {"content", "<tool_response>\nerror: malformed\n</tool_response>"}}));
}

TEST(ChatRequestTest, TextRequestsContainOnlyText) {
  const RequestStyle style = style_with(BrainTools::text);
  const json request = request_of(style);
  EXPECT_FALSE(request.contains("tools"));
  const json& messages = request["messages"];
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[0]["content"], conversation(style)[0].content);
  EXPECT_EQ(messages[2]["content"], two_calls);
  EXPECT_EQ(messages[3]["role"], "user");
  EXPECT_EQ(messages[3]["content"],
            "<tool_response>\ntext of "
            "a.cpp\n</tool_response>\n<tool_response>\ncompiled\n</tool_response>");
}

TEST(ChatRequestTest, ExtraFieldsAreMergedAndNullRemoves) {
  RequestStyle style = style_with(BrainTools::text);
  style.extra = R"({"max_tokens": null, "max_completion_tokens": 9, "stream_options": {"x": 1}})";
  const json request = request_of(style);
  EXPECT_FALSE(request.contains("max_tokens"));
  EXPECT_EQ(request["max_completion_tokens"], 9);
  EXPECT_EQ(request["stream_options"], (json{{"include_usage", true}, {"x", 1}}));
}

TEST(ChatRequestTest, ExtraFieldsAreChecked) {
  EXPECT_TRUE(check_extra(""));
  EXPECT_TRUE(check_extra("{}"));
  for (const char* wrong : {"[]", "{", "7", R"({"messages": []})", R"({"stream": false})"}) {
    EXPECT_FALSE(check_extra(wrong)) << wrong;
  }
}

/// A message grows by what follows it, so that a record of the difference is enough.
TEST(ChatRequestTest, EarlierMessagesStayTheSame) {
  const RequestStyle style = style_with(BrainTools::native);
  const auto all = conversation(style);
  const auto early = chat_request(std::span(all).first(5), style, 300).messages;
  const auto late = chat_request(all, style, 300).messages;
  ASSERT_LT(early.size(), late.size());
  EXPECT_TRUE(std::equal(early.begin(), early.end(), late.begin()));
}

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

/// Such counts would refund a budget or overflow it.
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

TEST(ChatAnswerTest, DistinguishesACutStreamFromARefusal) {
  const auto code = [](const char* type, const std::string& body) {
    return parse_answer(type, body).error().code;
  };
  EXPECT_EQ(code(stream_type, "data: {\"choices\": [{\"delta\": {\"content\": \"He\"}}]}\n\n"),
            ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, "data: {\"choices\": [{\"del"), ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, ""), ErrorCode::peer_lost);
  EXPECT_EQ(code(json_type, "{\"choices\": []}"), ErrorCode::peer_lost);
  EXPECT_EQ(code(stream_type, "data: [DONE]\n\n"), ErrorCode::peer_lost);
  EXPECT_EQ(code(json_type, "{}"), ErrorCode::parse_failed);
  EXPECT_EQ(code(json_type, ""), ErrorCode::parse_failed);
}

/// A stream with one piece of a call in each event.
Result<ChatAnswer> streamed(std::initializer_list<const char*> pieces) {
  std::string body;
  for (const std::string piece : pieces) {
    body += R"(data: {"choices": [{"delta": {"tool_calls": [)" + piece + "]}}]}\n\n";
  }
  return parse_answer(stream_type, body + "data: [DONE]\n\n");
}

/// "NAME ARGUMENTS" of each call.
std::vector<std::string> calls_of(const Result<ChatAnswer>& answer) {
  std::vector<std::string> calls;
  for (const AnswerCall& call : answer.value().calls) {
    calls.push_back(call.name + " " + call.arguments);
  }
  return calls;
}

using testing::ElementsAre;

TEST(StreamedCallsTest, IdsSeparateCallsWithoutAnIndex) {
  EXPECT_THAT(calls_of(streamed({R"({"id": "a", "function": {"name": "read", "arguments": "{}"}})",
                                 R"({"id": "b", "function": {"name": "bash", "arguments": ""}})",
                                 R"({"function": {"arguments": "{\"x\": 1}"}})"})),
              ElementsAre("read {}", "bash {\"x\": 1}"));
}

TEST(StreamedCallsTest, IdsSeparateCallsOfOneIndex) {
  EXPECT_THAT(calls_of(streamed(
                  {R"({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}})",
                   R"({"index": 0, "id": "b", "function": {"name": "bash", "arguments": "{}"}})"})),
              ElementsAre("read {}", "bash {}"));
}

TEST(StreamedCallsTest, WholeCallsWithoutIndexAndIdAreSeparate) {
  EXPECT_THAT(calls_of(streamed({R"({"function": {"name": "read", "arguments": "{}"}})",
                                 R"({"function": {"name": "read", "arguments": "{\"a\": 1}"}})"})),
              ElementsAre("read {}", "read {\"a\": 1}"));
}

TEST(StreamedCallsTest, ANameThatIsRepeatedCountsOnce) {
  EXPECT_THAT(
      calls_of(streamed(
          {R"({"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}})",
           R"({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"p\""}})",
           R"({"index": 0, "id": "a", "function": {"name": "read", "arguments": ": 1}"}})"})),
      ElementsAre("read {\"p\": 1}"));
}

TEST(ChatAnswerTest, LoneSurrogatesAreReplaced) {
  const auto answer = parse_answer(
      stream_type, R"(data: {"choices": [{"delta": {"content": "ok \ud83d"}}]})"
                   "\n\n"
                   R"(data: {"choices": [{"delta": {"content": "\udc4b \ud83d\udc4b"}}]})"
                   "\n\ndata: [DONE]\n\n");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "ok \uFFFD\uFFFD \U0001F44B");
}

TEST(ChatAnswerTest, TheCaseOfAMediaTypeDoesNotMatter) {
  EXPECT_TRUE(parse_answer("Text/Event-Stream; charset=utf-8",
                           ":\n\ndata: {\"choices\": [{\"delta\": {}}]}\n\ndata: [DONE]\n"));
}

TEST(ReportedErrorTest, IsFoundWithItsStatusWhereverItIs) {
  const auto status = [](const char* type, const std::string& body) {
    const auto error = reported_error(type, body);
    return error ? error->status : -1;
  };
  EXPECT_EQ(status(json_type, R"({"error": {"message": "slow down", "code": 429}})"), 429);
  EXPECT_EQ(status(json_type, R"({"error": {"message": "x", "code": "503"}})"), 503);
  EXPECT_EQ(status(json_type, R"({"error": {"message": "x", "type": "rate_limit_error"}})"), 429);
  EXPECT_EQ(status(json_type, R"({"error": "no"})"), 0);
  EXPECT_EQ(status(json_type, R"({"choices": [{"message": {}, "error": {"code": 502}}]})"), 502);
  EXPECT_EQ(status(json_type, R"({"choices": [{"message": {}}], "error": {"code": 429}})"), 429);
  EXPECT_EQ(status(stream_type, "data: {\"error\": {\"code\": 401}}\n\n"), 401);
  EXPECT_EQ(status(json_type, R"({"choices": [{"message": {}}], "error": null})"), -1);
}

TEST(ChatAnswerTest, QuotesTheTextThatArrivedInsteadOfJson) {
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
      {"submit", "null"}};
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

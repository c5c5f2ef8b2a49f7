// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/chat_request.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(ChatRequestTest, TextRequestsAreAllText) {
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

}  // namespace
}  // namespace warpsmith::actors

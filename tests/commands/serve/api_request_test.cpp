// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

ApiResult<ApiRequest> chat_of(const json& changes, ToolSyntax syntax = ToolSyntax::hermes) {
  json body{{"model", "m"}, {"messages", {{{"role", "user"}, {"content", "hello"}}}}};
  if (!changes.is_null()) body.update(changes);
  return parse_request(Endpoint::chat, body.dump(), syntax);
}

ApiResult<ApiRequest> completion_of(const json& changes) {
  json body{{"model", "m"}, {"prompt", "hello"}};
  if (!changes.is_null()) body.update(changes);
  return parse_request(Endpoint::completions, body.dump(), ToolSyntax::hermes);
}

/// The parameter that a refusal names.
std::string refused(const ApiResult<ApiRequest>& result) {
  return result ? "taken" : result.error().param;
}

TEST(ApiRequestTest, SamplingIsRead) {
  const auto request = chat_of({{"temperature", 0.5},
                                {"top_p", 0.9},
                                {"top_k", 40},
                                {"seed", -1},
                                {"max_completion_tokens", 99},
                                {"n", 3},
                                {"logprobs", true},
                                {"stop", {"a", "b"}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->sampling.temperature, 0.5);
  EXPECT_EQ(request->sampling.top_p, 0.9);
  EXPECT_EQ(request->sampling.top_k, 40);
  EXPECT_EQ(request->seed, ~uint64_t{0});
  EXPECT_EQ(request->sampling.max_tokens, 99);
  EXPECT_EQ(request->choices, 3);
  EXPECT_TRUE(request->log_probs);
  EXPECT_THAT(request->stop, ElementsAre("a", "b"));
}

TEST(ApiRequestTest, ACompletionHas16TokensAndAChatItsContext) {
  EXPECT_EQ(completion_of({})->sampling.max_tokens, 16);
  EXPECT_FALSE(chat_of({})->limited);
}

TEST(ApiRequestTest, NullCountsAsAbsent) {
  EXPECT_FALSE(chat_of({{"seed", nullptr}, {"stop", nullptr}, {"unheard_of", nullptr}})->seed);
}

TEST(ApiRequestTest, ParametersThatWouldChangeTheResultAreRefusedByName) {
  EXPECT_EQ(refused(chat_of({{"top_logprobs", 2}})), "top_logprobs");
  EXPECT_EQ(refused(chat_of({{"response_format", {{"type", "json_schema"}}}})), "response_format");
  EXPECT_EQ(refused(chat_of({{"presence_penalty", 0.1}})), "presence_penalty");
  EXPECT_EQ(refused(chat_of({{"tool_choice", "required"}})), "tool_choice");
  EXPECT_EQ(refused(chat_of({{"functions", json::array()}})), "functions");
  EXPECT_EQ(refused(completion_of({{"logprobs", 1}})), "logprobs");
  EXPECT_EQ(refused(completion_of({{"suffix", "x"}})), "suffix");
  EXPECT_EQ(refused(completion_of({{"messages", json::array()}})), "messages");
}

TEST(ApiRequestTest, ParametersWithoutEffectAreAccepted) {
  EXPECT_EQ(refused(chat_of({{"user", "u"},
                             {"metadata", {{"a", 1}}},
                             {"presence_penalty", 0.0},
                             {"logit_bias", json::object()},
                             {"response_format", {{"type", "text"}}},
                             {"tool_choice", "auto"}})),
            "taken");
}

TEST(ApiRequestTest, WrongValuesAreRefusedByName) {
  EXPECT_EQ(refused(chat_of({{"temperature", "hot"}})), "temperature");
  EXPECT_EQ(refused(chat_of({{"temperature", 2.1}})), "temperature");
  EXPECT_EQ(refused(chat_of({{"top_p", 0}})), "top_p");
  EXPECT_EQ(refused(chat_of({{"n", 0}})), "n");
  EXPECT_EQ(refused(chat_of({{"max_tokens", 0}})), "max_tokens");
  EXPECT_EQ(refused(chat_of({{"max_tokens", 1.5}})), "max_tokens");
  EXPECT_EQ(refused(chat_of({{"seed", uint64_t{1} << 63U}})), "seed");
  EXPECT_EQ(refused(chat_of({{"stop", ""}})), "stop");
  EXPECT_EQ(refused(chat_of({{"stop", {"a", "b", "c", "d", "e"}}})), "stop");
  EXPECT_EQ(refused(chat_of({{"stream", 1}})), "stream");
  EXPECT_EQ(refused(chat_of({{"stream_options", {{"include_usage", true}}}})), "stream_options");
  EXPECT_EQ(refused(chat_of({{"max_tokens", 5}, {"max_completion_tokens", 6}})), "max_tokens");
  EXPECT_EQ(refused(completion_of({{"prompt", {-1}}})), "prompt[0]");
  EXPECT_EQ(refused(completion_of({{"prompt", {{1, "a"}}}})), "prompt[0][1]");
}

TEST(ApiRequestTest, BodiesThatAreNotObjectsAreRefused) {
  const auto message = [](const std::string& body) {
    return parse_request(Endpoint::chat, body, ToolSyntax::hermes).error().message;
  };
  EXPECT_THAT(message("{"), HasSubstr("invalid JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(message(R"({"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(message("{}"), HasSubstr("model"));
}

TEST(ApiRequestTest, SystemMessagesComeFirstAndAreJoined) {
  const json user{{"role", "user"}, {"content", "hello"}};
  const json system{{"role", "system"}, {"content", "one"}};
  const json developer{{"role", "developer"}, {"content", "two"}};
  const auto request = chat_of({{"messages", {system, developer, user}}});
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->messages.size(), 2);
  EXPECT_EQ(request->messages[0].content, "one\n\ntwo");
  EXPECT_EQ(refused(chat_of({{"messages", {user, system}}})), "messages[1].role");
}

TEST(ApiRequestTest, MessagesAreRefusedByTheirPlace) {
  const auto place = [](const json& message) {
    return refused(chat_of({{"messages", json::array({message})}}));
  };
  EXPECT_EQ(place("hello"), "messages[0]");
  EXPECT_EQ(place({{"content", "x"}}), "messages[0].role");
  EXPECT_EQ(place({{"role", "user"}}), "messages[0].content");
  EXPECT_EQ(place({{"role", "user"}, {"content", 5}}), "messages[0].content");
  const json image{{"type", "image_url"}, {"image_url", {{"url", "x"}}}};
  EXPECT_EQ(place({{"role", "user"}, {"content", {image}}}), "messages[0].content[0]");
  const json call{{"function", {{"name", "f"}, {"arguments", "no object"}}}};
  EXPECT_EQ(place({{"role", "assistant"}, {"tool_calls", {call}}}),
            "messages[0].tool_calls[0].function.arguments");
}

TEST(ApiRequestTest, AnAssistantsCallsAreWrittenInTheModelsSyntax) {
  const json call{{"id", "c"},
                  {"type", "function"},
                  {"function", {{"name", "f"}, {"arguments", R"({"a": "x", "b": 2})"}}}};
  const json message{{"role", "assistant"}, {"content", "Look:"}, {"tool_calls", {call}}};
  const json messages = json::array({message});
  EXPECT_EQ(
      chat_of({{"messages", messages}})->messages[0].content,
      "Look:\n<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":\"x\",\"b\":2}}\n</tool_call>");
  EXPECT_EQ(chat_of({{"messages", messages}}, ToolSyntax::xml)->messages[0].content,
            "Look:\n<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n2\n"
            "</parameter>\n</function>\n</tool_call>");
}

TEST(ApiRequestTest, ToolsKeepTheirSchemasAndTypes) {
  const json tool{
      {"type", "function"},
      {"function",
       {{"name", "f"}, {"parameters", {{"properties", {{"a", {{"type", "integer"}}}}}}}}}};
  const auto request = chat_of({{"tools", {tool}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->tools[0].parameters, R"({"properties":{"a":{"type":"integer"}}})");
  EXPECT_THAT(request->tools[0].schema, HasSubstr("\"properties\""));
  EXPECT_TRUE(chat_of({{"tools", {tool}}, {"tool_choice", "none"}})->tools.empty());
  EXPECT_EQ(refused(chat_of({{"tools", {{{"type", "web_search"}}}}})), "tools[0]");
}

TEST(ApiRequestTest, ANullCountsAsAbsentButNotInASchema) {
  const json tool{{"type", "function"},
                  {"function",
                   {{"name", "f"},
                    {"description", nullptr},
                    {"parameters",
                     {{"properties", {{"a", {{"enum", {nullptr, 1}}, {"default", nullptr}}}}}}}}}};
  const json bare{{"type", "function"}, {"function", {{"name", "g"}, {"parameters", nullptr}}}};
  const json message{
      {"role", "user"}, {"content", "x"}, {"name", nullptr}, {"tool_calls", nullptr}};
  const auto request = chat_of({{"messages", json::array({message})},
                                {"stream", true},
                                {"stream_options", {{"include_usage", nullptr}}},
                                {"tools", {tool, bare}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_FALSE(request->include_usage);
  EXPECT_EQ(request->tools[0].parameters,
            R"({"properties":{"a":{"default":null,"enum":[null,1]}}})");
  EXPECT_EQ(request->tools[1].parameters, "null");
}

TEST(ApiRequestTest, ACallOfTheHistoryMayHaveNoArguments) {
  for (const json& none : {json(""), json(" "), json(nullptr), json("null"), json::object()}) {
    const json call{{"id", "c"}, {"function", {{"name", "f"}, {"arguments", none}}}};
    const json message{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}};
    const auto request = chat_of({{"messages", json::array({message})}});
    ASSERT_TRUE(request) << none << request.error().message;
    EXPECT_THAT(request->messages[0].content, HasSubstr(R"("arguments":{})")) << none;
  }
}

TEST(ApiRequestTest, LoneSurrogatesAreReplaced) {
  const auto request = parse_request(
      Endpoint::chat, R"({"model": "m", "messages": [{"role": "user", "content": "x \ud83d y"}]})",
      ToolSyntax::hermes);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->messages[0].content, "x \uFFFD y");
}

TEST(ApiRequestTest, PromptsAreTextsOrTokens) {
  EXPECT_EQ(completion_of({{"prompt", {"a", "b"}}})->prompts.size(), 2);
  EXPECT_EQ(std::get<1>(completion_of({{"prompt", {1, 2}}})->prompts[0]),
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(completion_of({{"prompt", {{1, 2}, {3}}}})->prompts.size(), 2);
}

}  // namespace
}  // namespace warpsmith::commands

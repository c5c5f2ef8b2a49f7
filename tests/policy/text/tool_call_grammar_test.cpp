// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tool_call_grammar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/random_stream.hpp"
#include "tests/support/json_file.hpp"

namespace warpsmith::policy {
namespace {

using testing::HasSubstr;

constexpr const char* write_turn =
    "I fuse both passes.\n<tool_call>\n<function=write>\n<parameter=path>\nsolution/kernel.cpp\n"
    "</parameter>\n<parameter=content>\nint a;\n\n  a < b && c > d;\n</parameter>\n</function>\n"
    "</tool_call>";

std::string message_of(std::string_view text, ToolSyntax syntax = ToolSyntax::xml) {
  const auto turn = parse_turn(text, syntax);
  return turn ? "parsed" : turn.error().message;
}

TEST(ToolCallGrammarTest, HermesKeepsTheArgumentsAsTheyWereWritten) {
  const auto turn = parse_turn(
      R"(<tool_call>{"name": "f", "arguments": {"b": "5", "a": 5, "c": null}}</tool_call>)",
      ToolSyntax::hermes);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->written.at(0), R"({"b":"5","a":5,"c":null})");
  EXPECT_EQ(turn->calls.at(0).arguments.size(), 2U) << "null counts as absent";
  EXPECT_EQ(parse_turn(write_turn, ToolSyntax::xml)->written.at(0), "");
}

TEST(ToolCallGrammarTest, LoneSurrogatesOfACallAreReplaced) {
  const auto turn = parse_turn(
      R"(<tool_call>{"name": "f", "arguments": {"a": "x\ud83d"}}</tool_call>)", ToolSyntax::hermes);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->calls.at(0).arguments.at("a"), "x\uFFFD");
}

TEST(ToolCallGrammarTest, ATemplateShowsTheSyntaxOfItsCalls) {
  EXPECT_EQ(syntax_of_renderings(R"({"call": "<tool_call>\n<function=CallName7>\n"})"),
            ToolSyntax::xml);
  EXPECT_EQ(syntax_of_renderings(R"({"call": "<tool_call>\n{\"name\": \"CallName7\""})"),
            ToolSyntax::hermes);
  for (const char* none : {R"({"call": ""})", R"({"errors": {"call": "no"}})", "{}", "5", "x"}) {
    EXPECT_EQ(syntax_of_renderings(none), ToolSyntax::hermes) << none;
  }
}

TEST(ToolCallGrammarTest, XmlKeepsCodeVerbatim) {
  const auto turn = parse_turn(write_turn, ToolSyntax::xml);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->words, "I fuse both passes.\n");
  ASSERT_EQ(turn->calls.size(), 1U);
  EXPECT_EQ(turn->calls[0].name, "write");
  EXPECT_EQ(turn->calls[0].arguments.at("path"), "solution/kernel.cpp");
  EXPECT_EQ(turn->calls[0].arguments.at("content"), "int a;\n\n  a < b && c > d;");
}

TEST(ToolCallGrammarTest, CallWithoutParametersAndSeveralCalls) {
  const auto turn = parse_turn(
      "<tool_call>\n<function=compile>\n</function>\n</tool_call>\n"
      "<tool_call><function=submit></function></tool_call>",
      ToolSyntax::xml);
  ASSERT_TRUE(turn) << turn.error().message;
  ASSERT_EQ(turn->calls.size(), 2U);
  EXPECT_EQ(turn->calls[1].name, "submit");
}

TEST(ToolCallGrammarTest, PlainTextIsNotACall) {
  const auto turn = parse_turn("Done: 3 < 4 and <b> is fine.", ToolSyntax::xml);
  ASSERT_TRUE(turn);
  EXPECT_TRUE(turn->calls.empty());
}

TEST(ToolCallGrammarTest, ThoughtsAreSkipped) {
  const auto turn = parse_turn(
      "<think>\nmaybe <tool_call> or <function=x>?\n</think>\n<tool_call>\n<function=submit>\n"
      "</function>\n</tool_call>",
      ToolSyntax::xml);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->calls.size(), 1U);
}

TEST(ToolCallGrammarTest, MalformedXmlSaysLineExpectedAndGot) {
  EXPECT_EQ(message_of("a\n<tool_call>\n<func=write>"),
            "line 3: expected `<function=NAME>`, got `<func=write>`");
  EXPECT_EQ(message_of("<tool_call>\n<function=submit>\n</function>\n"),
            "line 4: expected `</tool_call>`, got the end of the turn");
  EXPECT_EQ(message_of("<tool_call>\n<function=submit>\n<oops>\n"),
            "line 3: expected `<parameter=KEY>` or `</function>`, got `<oops>`");
  EXPECT_EQ(message_of("<tool_call>\n<function=w>\n<parameter=path>\nx\n"),
            "parameter `path`: line 3: expected `</parameter>`, got the end of the turn");
  EXPECT_THAT(message_of("<tool_call>\n<function=a b>\n"), HasSubstr("function name"));
  EXPECT_THAT(message_of("so:\n<function=submit>\n"),
              HasSubstr("line 2: `<function=` stands outside of a call"));
}

TEST(ToolCallGrammarTest, ParameterGivenTwiceIsMalformed) {
  const std::string p = "<parameter=path>\na\n</parameter>\n";
  EXPECT_THAT(message_of("<tool_call>\n<function=read>\n" + p + p + "</function>\n</tool_call>"),
              HasSubstr("`path` is given twice"));
}

TEST(ToolCallGrammarTest, HermesTakesStringsAndDumpsTheRest) {
  const auto turn = parse_turn(
      "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\\nb\", \"limit\": 5, "
      "\"all\": true, \"list\": [1, \"x\"]}}\n</tool_call>",
      ToolSyntax::hermes);
  ASSERT_TRUE(turn) << turn.error().message;
  const ParsedCall expected{
      "read", {{"path", "a\nb"}, {"limit", "5"}, {"all", "true"}, {"list", "[1,\"x\"]"}}};
  EXPECT_EQ(turn->calls.at(0), expected);
}

TEST(ToolCallGrammarTest, MalformedHermesSaysWhatWasExpected) {
  const auto call = [](const std::string& body) {
    return message_of("<tool_call>\n" + body + "\n</tool_call>", ToolSyntax::hermes);
  };
  EXPECT_THAT(call("{\"name\": "), HasSubstr("invalid JSON at byte"));
  EXPECT_THAT(call("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(call("{\"name\": 3}"), HasSubstr("string \"name\""));
  EXPECT_THAT(call(R"({"name": "x", "arguments": "y"})"), HasSubstr("must be an object"));
  EXPECT_THAT(call(R"({"name": "x", "arguments": {"n": 1e999}})"), HasSubstr("out of range"));
  EXPECT_THAT(call(R"({"name":"x","arguments":{"a":)" + std::string(5000, '[') +
                   std::string(5000, ']') + "}}"),
              HasSubstr("nested too deeply"));
}

/// The text of calls, for `parse_turn`. In xml a value must not contain what may follow a value.
std::string format_call(const ParsedCall& call, ToolSyntax syntax) {
  std::string text = std::string("<tool_call>") + '\n';
  if (syntax == ToolSyntax::hermes) {
    nlohmann::json json{{"name", call.name}, {"arguments", nlohmann::json::object()}};
    for (const auto& [key, value] : call.arguments) json["arguments"][key] = value;
    text += json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    return text + "</tool_call>";
  }
  text += "<function=" + call.name + ">\n";
  for (const auto& [key, value] : call.arguments) {
    text.append("<parameter=").append(key).append(">\n").append(value).append("\n</parameter>\n");
  }
  return text + "</function>\n" + "</tool_call>";
}

ParsedCall only_call(const std::string& text, ToolSyntax syntax) {
  const auto turn = parse_turn(text, syntax);
  if (!turn) throw std::runtime_error(turn.error().message);
  if (turn->calls.size() != 1) throw std::runtime_error("not one call");
  return turn->calls[0];
}

TEST(ToolCallGrammarTest, TagsInTheStringsOfACallAreText) {
  for (const char* value :
       {"</tool_call>", "<tool_call>", "</think>", "<think>", "a }\"\\ </tool_call> {",
        "// <think> x </think> </tool_call>\n<tool_call>{}</tool_call>"}) {
    const ParsedCall call{"write", {{"content", value}, {"path", "a"}}};
    EXPECT_EQ(only_call(format_call(call, ToolSyntax::hermes), ToolSyntax::hermes), call) << value;
    EXPECT_EQ(only_call(format_call(call, ToolSyntax::xml), ToolSyntax::xml), call) << value;
  }
  const ParsedCall call{"write", {{"content", "a </parameter> b </function> c"}, {"path", "a"}}};
  EXPECT_EQ(only_call(format_call(call, ToolSyntax::xml), ToolSyntax::xml), call);
}

TEST(ToolCallGrammarTest, AThoughtOpenedByThePromptIsSkipped) {
  const std::string call = "<tool_call>{\"name\": \"submit\"}</tool_call>";
  for (const char* thought : {"I think.", "Maybe <tool_call> or <function=x>?",
                              "<tool_call>{\"name\": \"verify\"}</tool_call> first?",
                              "<think> <tool_call> {", "x </think> y"}) {
    const auto turn = parse_turn(thought + ("\n</think>\nNow." + call), ToolSyntax::hermes);
    ASSERT_TRUE(turn) << thought << ": " << turn.error().message;
    ASSERT_EQ(turn->calls.size(), 1U) << thought;
    EXPECT_EQ(turn->calls[0].name, "submit");
    EXPECT_EQ(turn->words, "\nNow.") << thought;
  }
}

TEST(ToolCallGrammarTest, AThoughtBetweenCallsKeepsBoth) {
  const std::string call = "<tool_call><function=verify></function></tool_call>";
  const auto turn = parse_turn(call + "<think> and </think>" + call, ToolSyntax::xml);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->calls.size(), 2U);
}

TEST(ToolCallGrammarTest, ManyTagsAreParsedQuickly) {
  for (const char* tags : {"</function></think>", "<think>", "</think>", "<tool_call></think>",
                           "</parameter> ", "<think></think>"}) {
    std::string text;
    while (text.size() + 24 < max_turn_bytes) text += tags;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(message_of(text), "");
    EXPECT_NE(message_of("<tool_call><function=w><parameter=a>" + text.substr(64)), "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{20}) << tags;
  }
}

TEST(ToolCallGrammarTest, AnUnclosedThoughtDoesNotHideCalls) {
  EXPECT_EQ(
      only_call("<think> so <tool_call><function=submit></function></tool_call>", ToolSyntax::xml)
          .name,
      "submit");
}

TEST(ToolCallGrammarTest, HermesTakesOtherSpellingsOfArguments) {
  const auto call = [](const std::string& body) {
    return only_call("<tool_call>\n" + body + "\n</tool_call>", ToolSyntax::hermes);
  };
  const ParsedCall expected{"read", {{"path", "a"}}};
  EXPECT_EQ(call(R"({"name": "read", "parameters": {"path": "a"}})"), expected);
  EXPECT_EQ(call(R"({"name": "read", "arguments": null, "parameters": {"path": "a"}})"), expected);
  EXPECT_EQ(call(R"({"name": "read", "arguments": "{\"path\": \"a\"}"})"), expected);
  EXPECT_EQ(call(R"({"name": "read", "arguments": {"path": "a", "limit": null}})"), expected);
  EXPECT_EQ(call(R"({"name": "read", "arguments": null})"), (ParsedCall{"read", {}}));
  EXPECT_EQ(call(R"({"name": "r", "arguments": {"a": 1.0, "b": -2e3, "c": 1.5}})"),
            (ParsedCall{"r", {{"a", "1"}, {"b", "-2000"}, {"c", "1.5"}}}));
}

TEST(ToolCallGrammarTest, CallsAfterReportsParse) {
  const std::string folder = "../shared/cases/tool_calls/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const auto call = [&](const char* name) {
    return only_call(test::file_text(folder + name), ToolSyntax::hermes);
  };
  EXPECT_EQ(call("parameters.txt"),
            (ParsedCall{"write", {{"path", "solution/kernel.cpp"}, {"content", "int x;"}}}));
  EXPECT_EQ(call("null.txt"), (ParsedCall{"read", {{"path", "reference.py"}}}));
  EXPECT_EQ(call("float.txt"),
            (ParsedCall{"read", {{"path", "reference.py"}, {"offset", "1"}, {"limit", "20"}}}));
}

TEST(ToolCallGrammarTest, LimitsOfATurnAreEnforced) {
  const std::string call = "<tool_call><function=submit></function></tool_call>";
  std::string many;
  for (size_t i = 0; i <= max_calls_per_turn; ++i) many += call;
  EXPECT_THAT(message_of(many), HasSubstr("more than 16 calls"));
  EXPECT_THAT(message_of(std::string(max_turn_bytes + 1, 'x')),
              HasSubstr("bytes, at most 1048576"));
}

TEST(ToolCallGrammarTest, FormattedCallsParseBackInBothSyntaxes) {
  const ParsedCall call{"write",
                        {{"path", "solution/kernel.cpp"}, {"content", "\n a\t\"b\"\\n<x>\n"}}};
  for (const auto syntax : {ToolSyntax::xml, ToolSyntax::hermes}) {
    const auto turn = parse_turn(format_call(call, syntax), syntax);
    ASSERT_TRUE(turn) << turn.error().message;
    EXPECT_EQ(turn->calls.at(0), call);
  }
}

TEST(ToolCallGrammarTest, ToolsPromptHasSchemasAndSyntax) {
  const std::vector<ToolSchema> tools{
      {"read",
       "Reads a file.",
       {{"path", "string", "where"}, {"limit", "integer", "lines", false}}}};
  const std::string text = tools_prompt(tools, ToolSyntax::hermes);
  EXPECT_THAT(text, HasSubstr(R"("name":"read")"));
  EXPECT_THAT(text, HasSubstr(R"("required":["path"])"));
  EXPECT_THAT(text, HasSubstr(R"({"name": "NAME", "arguments")"));
  EXPECT_THAT(tools_prompt(tools, ToolSyntax::xml), HasSubstr("<function=NAME>"));
}

/// Cuts, repeats or overwrites a part of `text`.
std::string mutated(std::string text, RandomStream& random) {
  for (uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = random.below(text.size());
    const size_t length = 1 + random.below(std::min<size_t>(text.size() - at, 12));
    switch (random.below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text[at] = static_cast<char>(random.below(256));
        break;
      default:
        text.insert(random.below(text.size()), "<tool_call>");
    }
  }
  return text;
}

TEST(ToolCallGrammarTest, MutatedTurnsParseOrFailWithAMessage) {
  RandomStream random{11, "grammar_fuzz"};
  const std::string hermes =
      "<tool_call>\n{\"name\": \"edit\", \"arguments\": {\"path\": \"\\u00e9\", \"n\": [1, 2]}}\n"
      "</tool_call>";
  for (int i = 0; i < 20'000; ++i) {
    const bool xml = i % 2 == 0;
    const auto syntax = xml ? ToolSyntax::xml : ToolSyntax::hermes;
    const auto turn = parse_turn(mutated(xml ? write_turn : hermes, random), syntax);
    if (!turn) {
      EXPECT_FALSE(turn.error().message.empty());
      continue;
    }
    for (const ParsedCall& call : turn->calls) {
      const auto again = parse_turn(format_call(call, syntax), syntax);
      // Hermes replaces invalid UTF-8; in xml a value cannot contain an opening tag.
      if (xml) {
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->calls.at(0), call);
      }
    }
  }
}

}  // namespace
}  // namespace warpsmith::policy

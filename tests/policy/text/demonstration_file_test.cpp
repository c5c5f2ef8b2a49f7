// SPDX-License-Identifier: Apache-2.0
#include "policy/text/demonstration_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "policy/text/tool_call_grammar.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

/// "role: content" for each message, with a star if it is trained on.
std::string shown(const std::string& line, ToolSyntax syntax = ToolSyntax::hermes) {
  const auto read = parse_demonstration(line, syntax);
  if (!read) return "refused: " + read.error().message;
  std::string out;
  for (const ChatMessage& m : read->messages) {
    out += m.role + (m.train ? "*: " : ": ") + m.content + '|';
  }
  return out;
}

constexpr const char* user_and_answer = R"({"role": "user", "content": "u"}, )";

std::string after_user(const std::string& message) {
  return std::string(R"({"messages": [)") + user_and_answer + message + "]}";
}

TEST(DemonstrationFileTest, AssistantTurnsAreTrainedByDefault) {
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "a"})")),
            "user: u|assistant*: a|");
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "a", "train": null})")),
            "user: u|assistant*: a|");
}

TEST(DemonstrationFileTest, TrainOrWeightExcludesATurn) {
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "a", "train": false})")),
            "user: u|assistant: a|");
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "a", "weight": 0})")),
            "user: u|assistant: a|");
  EXPECT_EQ(
      shown(after_user(R"({"role": "assistant", "content": "a", "train": true, "weight": 0})")),
      "user: u|assistant: a|");
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "a", "weight": 1.0})")),
            "user: u|assistant*: a|");
}

TEST(DemonstrationFileTest, ShareGptAndPromptsWithCompletionsAreRead) {
  EXPECT_EQ(shown(R"({"conversations": [{"from": "system", "value": "s"},
                     {"from": "human", "value": "u"}, {"from": "gpt", "value": "a"}]})"),
            "system: s|user: u|assistant*: a|");
  EXPECT_EQ(shown(R"({"system": "s", "conversations": [{"role": "user", "content": "u"},
                     {"role": "assistant", "content": "a"}]})"),
            "system: s|user: u|assistant*: a|");
  EXPECT_EQ(shown(R"({"prompt": "u", "completion": "a"})"), "user: u|assistant*: a|");
  EXPECT_EQ(shown(R"({"prompt": [{"role": "user", "content": "u"},
                     {"role": "assistant", "content": "early"}, {"role": "user", "content": "v"}],
                     "completion": [{"role": "assistant", "content": "a"}]})"),
            "user: u|assistant: early|user: v|assistant*: a|");
}

TEST(DemonstrationFileTest, ToolCallsAreWrittenInTheModelsSyntax) {
  const std::string call = R"({"id": "c1", "type": "function", "function":
                              {"name": "read", "arguments": "{\"path\": \"a.py\", \"n\": 2}"}})";
  const std::string line =
      after_user(R"({"role": "assistant", "content": null, "tool_calls": [)" + call + R"(]},
                 {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "class"})");
  for (const ToolSyntax syntax : {ToolSyntax::hermes, ToolSyntax::xml}) {
    const auto read = parse_demonstration(line, syntax);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->messages[1].train);
    const auto turn = parse_turn(read->messages[1].content, syntax);
    ASSERT_TRUE(turn) << turn.error().message;
    const ParsedCall expected{"read", {{"path", "a.py"}, {"n", "2"}}};
    EXPECT_EQ(turn->calls, std::vector<ParsedCall>{expected});
  }
}

TEST(DemonstrationFileTest, ResultsFollowInTheOrderOfTheirCalls) {
  const std::string calls =
      R"({"role": "assistant", "content": "t", "tool_calls": [
          {"id": "c1", "function": {"name": "a", "arguments": {}}},
          {"id": "c2", "function": {"name": "b"}}]}, )";
  const auto result = [](const std::string& id) {
    return R"({"role": "tool", "tool_call_id": ")" + id + R"(", "content": "r"})";
  };
  EXPECT_EQ(shown(after_user(calls + result("c1") + ", " + result("c2"))).find("refused"),
            std::string::npos);
  EXPECT_EQ(shown(after_user(calls + result("c2") + ", " + result("c1"))),
            "refused: messages[2].tool_call_id: expected \"c1\", because results follow in the "
            "order of the calls, got \"c2\"");
}

TEST(DemonstrationFileTest, ToolsAreShownInTheSystemMessage) {
  const std::string read = shown(
      R"({"tools": [{"type": "function", "function": {"name": "read"}}], "messages": [
          {"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}]})");
  EXPECT_TRUE(read.starts_with("system: s\n\n# Tools")) << read;
  EXPECT_NE(read.find(R"({"type":"function","function":{"name":"read"}})"), std::string::npos);
}

TEST(DemonstrationFileTest, ALoneSurrogateIsReplacedAndAPairIsKept) {
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": "cut \ud83d and \ud83d\ude00"})")),
            "user: u|assistant*: cut \xEF\xBF\xBD and \xF0\x9F\x98\x80|");
}

TEST(DemonstrationFileTest, WhatIsNotReadIsRefusedByKeyAndRemedy) {
  const auto assistant = [](const std::string& more) {
    return shown(after_user(R"({"role": "assistant", "content": "a", )" + more + "}"));
  };
  EXPECT_EQ(assistant(R"("weight": 0.5)"),
            "refused: messages[1].weight: expected 0 or 1, because a turn is trained on or not, "
            "got 0.5");
  EXPECT_EQ(assistant(R"("function_call": {"name": "f"})"),
            "refused: messages[1].function_call: the key is not supported; write the call as "
            "\"tool_calls\"");
  EXPECT_EQ(assistant(R"("wieght": 0)"),
            "refused: messages[1].wieght: unknown key in a message of role assistant; leave it "
            "out, or write it into the content");
  EXPECT_EQ(shown(after_user(R"({"role": "function", "content": "a"})")),
            "refused: messages[1].role: expected one of assistant, developer, system, tool, user, "
            "got \"function\"");
  EXPECT_EQ(shown(after_user(R"({"role": "user", "content": "a", "train": true})")),
            "refused: messages[1].train: only turns of the assistant are trained on; leave it out");
  EXPECT_EQ(shown(after_user(R"({"role": "system", "content": "late"})")),
            "refused: messages[1]: a system message can only come first; move it, or leave the row "
            "out");
  EXPECT_EQ(shown(after_user(R"({"role": "assistant", "content": null})")),
            "refused: messages[1].content: expected a text, got none; leave the row out");
  EXPECT_EQ(shown(R"({"prompt": "p", "chosen": "a", "rejected": "b"})"),
            "refused: chosen: the key is not supported; write the preferred answer as "
            "\"messages\": pairs are not compared");
  EXPECT_EQ(shown(R"({"instruction": "p", "output": "a"})"),
            "refused: expected \"messages\", \"conversations\", or \"prompt\" and \"completion\", "
            "got only instruction, output; write the row in one of these formats");
}

TEST(DemonstrationFileTest, AFileMayBeginWithAByteOrderMarkAndErrorsNameTheLine) {
  const test_support::TemporaryFolder folder;
  const auto file = folder.path() / "rows.jsonl";
  const std::string row = R"({"prompt": "u", "completion": "a"})";
  std::ofstream{file} << "\xEF\xBB\xBF" << row << "\r\n\r\n" << row << '\n';
  const auto read = read_demonstrations(file, ToolSyntax::hermes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), 2U);
  std::ofstream{file} << row << "\nno JSON\n";
  EXPECT_EQ(read_demonstrations(file, ToolSyntax::hermes).error().message,
            file.string() + ":2: not JSON at byte 2; write one JSON object per line");
}

TEST(DemonstrationFileTest, ALineThatIsNoObjectIsRefusedByItsReason) {
  EXPECT_EQ(shown(R"({"prompt": "u", "comp)"),
            "refused: not JSON: the line ends at byte 21 within a value; write each object on one "
            "line");
  EXPECT_EQ(
      shown("{\"prompt\": \"caf\xE9\", \"completion\": \"a\"}"),
      "refused: not UTF-8 at byte 16 (0xe9); convert the file, for example by iconv -t UTF-8");
  EXPECT_EQ(shown(R"([{"prompt": "u", "completion": "a"}])"),
            "refused: expected a JSON object, got JSON of type array; write one object per line");
  EXPECT_EQ(shown(std::string(70, '[') + std::string(70, ']')),
            "refused: nested more than 64 levels deep; leave the row out");
}

TEST(DemonstrationFileTest, OfAPromptAndACompletionTheOneThatIsNoTextIsNamed) {
  EXPECT_EQ(shown(R"({"prompt": "a", "completion": 5})"),
            "refused: completion: expected a text, as \"prompt\" is one, got 5");
  EXPECT_EQ(shown(R"({"prompt": [], "completion": "a"})"),
            "refused: prompt: expected a text, as \"completion\" is one, got []");
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_format.hpp"

#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

TEST(ChatTurnsTest, PromptEndsBeforeTheFirstSampledToken) {
  EXPECT_EQ(chat_prompt("", "task").text(),
            "<|im_start|>user\ntask<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat_prompt("be brief", "task").text(),
            "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\ntask<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatTurnsTest, ResultsFollowTheEndOfTurnToken) {
  const std::vector<std::string> one{"compiled"};
  EXPECT_EQ(tool_responses(one).text(),
            "\n<|im_start|>user\n<tool_response>\ncompiled\n</tool_response><|im_end|>\n"
            "<|im_start|>assistant\n");
  const std::vector<std::string> two{"a", "b"};
  EXPECT_NE(tool_responses(two).text().find("</tool_response>\n<tool_response>\nb"),
            std::string::npos);
}

TEST(ChatTurnsTest, ControlTokensInResultsAreDefused) {
  EXPECT_EQ(escape_control_tokens("x<|im_end|>\n<tool_call>"), "x< |im_end|>\n< tool_call>");
  EXPECT_EQ(escape_control_tokens("<|eot_id|>"), "< |eot_id|>");
  EXPECT_EQ(escape_control_tokens("a < b, <vector>, x<y|z"), "a < b, <vector>, x<y|z");
}

TEST(ChatTurnsTest, ControlTokensInThePromptAreDefused) {
  EXPECT_EQ(chat_prompt("", "x<|im_end|>y").text().find("x<|im_end|>"), std::string::npos);
}

TEST(ChatTurnsTest, OnlyTextFromTasksAndToolsIsUntrusted) {
  const std::vector<std::string> results{"one", "two"};
  const std::vector<ChatMessage> messages{
      {"system", "rules"}, {"user", "task"}, {"assistant", "a"}, {"tool", "told"}};
  std::string untrusted;
  const auto add = [&](const MarkedText& text) {
    for (const TextRun& run : text.runs()) untrusted += run.untrusted ? run.text + "|" : "";
  };
  add(chat_prompt("rules", "task"));
  add(tool_responses(results));
  for (const ChatPiece& piece : chat_pieces(messages)) add(piece.text);
  EXPECT_EQ(untrusted, "task|one|two|task|told|");
}

TEST(ChatTurnsTest, LlamaHasItsOwnFrame) {
  EXPECT_EQ(chat_prompt("be brief", "task", llama3_frame()).text(),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nbe brief<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\ntask<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  const std::vector<std::string> results{"compiled"};
  EXPECT_EQ(tool_responses(results, llama3_frame()).text(),
            "<|start_header_id|>ipython<|end_header_id|>\n\n<tool_response>\ncompiled\n"
            "</tool_response><|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTurnsTest, PiecesOfALlamaConversationEqualTextOfARollout) {
  const ChatFrame frame = llama3_frame();
  const std::vector<ChatMessage> messages{
      {"user", "task"}, {"assistant", "a", true}, {"tool", "told"}, {"assistant", "b", true}};
  const auto pieces = chat_pieces(messages, frame);
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].text.text(), chat_prompt("", "task", frame).text());
  const std::vector<std::string> results{"told"};
  EXPECT_EQ(pieces[2].text.text(), tool_responses(results, frame).text());
  EXPECT_EQ(pieces[3].text.text(), "b<|eot_id|>");
}

TEST(ChatTurnsTest, InvalidUtf8InAResultIsReplaced) {
  const std::vector<std::string> results{"a\xFFz\xC3"};
  EXPECT_NE(tool_responses(results).text().find("a\xEF\xBF\xBDz\xEF\xBF\xBD\n"), std::string::npos);
}

TEST(ChatTurnsTest, ConversationPiecesEqualTextOfARollout) {
  const std::vector<ChatMessage> messages{{"user", "task"},
                                          {"assistant", "first", true},
                                          {"tool", "compiled"},
                                          {"tool", "passed"},
                                          {"assistant", "second", true}};
  const auto pieces = chat_pieces(messages);
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].text.text(), chat_prompt("", "task").text());
  EXPECT_EQ(pieces[1].text.text(), "first<|im_end|>");
  EXPECT_TRUE(pieces[1].action);
  const std::vector<std::string> results{"compiled", "passed"};
  EXPECT_EQ(pieces[2].text.text(), tool_responses(results).text());
  EXPECT_FALSE(pieces[2].action);
  EXPECT_EQ(pieces[3].text.text(), "second<|im_end|>");
}

TEST(ChatTurnsTest, TurnsThatAreNotTrainedAreNotActions) {
  const std::vector<ChatMessage> messages{{"user", "task"},
                                          {"assistant", "bad", false},
                                          {"user", "again"},
                                          {"assistant", "good", true}};
  const auto pieces = chat_pieces(messages);
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_FALSE(pieces[1].action);
  EXPECT_EQ(pieces[2].text.text(), "\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_TRUE(pieces[3].action);
}

TEST(ChatTurnsTest, ResultsAtTheEndAreKept) {
  const std::vector<ChatMessage> messages{
      {"user", "t"}, {"assistant", "a", true}, {"tool", "passed"}};
  const auto pieces = chat_pieces(messages);
  EXPECT_EQ(pieces.back().text.text(),
            "\n<|im_start|>user\n<tool_response>\npassed\n</tool_response><|im_end|>\n");
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Conversations as the families' published templates render them.
#include "policy/text/chat_template.hpp"

#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

using Messages = std::vector<ChatMessage>;

ChatTemplate recognized(std::string_view jinja) {
  auto chat = recognize_chat_template(jinja, "<|begin_of_text|>");
  if (!chat) throw std::runtime_error(chat.error().message);
  return *chat;
}

const Messages hello{{"user", "Hello"}};

TEST(ChatTemplateTest, DefaultSystemMessageIsReadFromTheTemplate) {
  const auto chat = recognized(
      "{% if x %}{{ '<|im_start|>system\\n' + m + '<|im_end|>\\n' }}{% else %}"
      "{{ '<|im_start|>system\\nBe good.<|im_end|>\\n' }}{% endif %}");
  EXPECT_EQ(chat.default_system, "Be good.");
  EXPECT_EQ(render_chat(chat, hello, {.generation_prompt = true}),
            "<|im_start|>system\nBe good.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(render_chat(chat, Messages{{"system", "S"}, {"user", "U"}}),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n");
}

TEST(ChatTemplateTest, ToolMessagesInARowShareOneTurn) {
  const auto chat = recognized("<|im_start|> <tool_response>");
  const Messages messages{{"user", "u"}, {"assistant", "a"}, {"tool", "1"}, {"tool", "2"}};
  EXPECT_EQ(render_chat(chat, messages),
            "<|im_start|>user\nu<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n"
            "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n"
            "</tool_response><|im_end|>\n");
}

class Qwen3ChatTest : public testing::Test {
 protected:
  ChatTemplate chat_ = recognized("<|im_start|> <tool_response> reasoning_content");
};

TEST_F(Qwen3ChatTest, ThoughtsBeforeTheLastQuestionAreDropped) {
  const Messages messages{{"user", "1"},
                          {"assistant", "<think>\nhm\n</think>\n\nfirst"},
                          {"user", "2"},
                          {"assistant", "<think>\nso\n</think>\n\nsecond"}};
  EXPECT_EQ(render_chat(chat_, messages),
            "<|im_start|>user\n1<|im_end|>\n<|im_start|>assistant\nfirst<|im_end|>\n"
            "<|im_start|>user\n2<|im_end|>\n"
            "<|im_start|>assistant\n<think>\nso\n</think>\n\nsecond<|im_end|>\n");
}

TEST_F(Qwen3ChatTest, TheLastAnswerGetsAnEmptyThought) {
  const Messages messages{{"user", "Hi"}, {"assistant", "Hello"}};
  EXPECT_EQ(render_chat(chat_, messages),
            "<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\nHello<|im_end|>\n");
}

TEST_F(Qwen3ChatTest, ToolResponsesAreNoQuestions) {
  const Messages messages{{"user", "q"},
                          {"assistant", "<think>\nt\n</think>\n\ncall"},
                          {"tool", "r"},
                          {"assistant", "done"}};
  const std::string text = render_chat(chat_, messages);
  EXPECT_NE(text.find("<think>\nt\n</think>\n\ncall"), std::string::npos) << text;
}

TEST_F(Qwen3ChatTest, ThinkingCanBeSwitchedOff) {
  EXPECT_EQ(render_chat(chat_, hello, {.generation_prompt = true, .enable_thinking = false}),
            "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST(Llama3ChatTest, ContentsAreTrimmedBetweenHeaders) {
  const auto chat = recognized("{{ '<|start_header_id|>' }}");
  EXPECT_EQ(render_chat(chat, Messages{{"user", "  Hi\n"}}, {.generation_prompt = true}),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(Llama3ChatTest, DatesComeBeforeTheSystemMessage) {
  const auto chat = recognized("<|start_header_id|> Cutting Knowledge Date");
  const std::string head =
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
      "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  const std::string user = "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>";
  EXPECT_EQ(render_chat(chat, hello), head + "<|eot_id|>" + user);
  EXPECT_EQ(render_chat(chat, Messages{{"system", "Short."}, {"user", "Hello"}}),
            head + "Short.<|eot_id|>" + user);
}

TEST(ChatTemplateTest, StrangeTemplatesAreRefused) {
  const auto chat = recognize_chat_template("[INST] {{ message }} [/INST]", "<s>");
  ASSERT_FALSE(chat);
  EXPECT_EQ(chat.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/policy_question.hpp"

#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

/// A token per letter; 0 ends an answer.
PolicyText letters(int64_t max_tokens, int64_t max_answer) {
  return {
      .encode =
          [](const std::string& text) { return std::vector<int32_t>(text.begin(), text.end()); },
      .decode =
          [](std::span<const int32_t> tokens) { return std::string(tokens.begin(), tokens.end()); },
      .stop_tokens = {0},
      .max_tokens = max_tokens,
      .max_answer = max_answer};
}

TokenChunk chunk_for(const PolicyQuestion& question, std::vector<int32_t> tokens,
                     FinishReason finish = FinishReason::none) {
  return {question.call().session, question.call().turn, std::move(tokens), {}, {}, finish};
}

TEST(PolicyQuestionTest, ThePromptIsAWholeRequestInASessionThatNoTrajectoryUses) {
  const auto question = PolicyQuestion::make(letters(10, 99), 7, 3, "abc");
  ASSERT_TRUE(question) << question.error().message;
  const GenerateCall& call = question->call();
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(call.new_tokens, (std::vector<int32_t>{'a', 'b', 'c'}));
  EXPECT_EQ(call.credit, 7) << "the room left by the prompt";
  EXPECT_EQ(call.turn, 3U);
  EXPECT_EQ(call.session, (uint64_t{1} << 63U) + 7);
  EXPECT_EQ(PolicyQuestion::make(letters(10, 4), 7, 3, "abc")->call().credit, 4);
}

TEST(PolicyQuestionTest, APromptWithoutRoomForAnAnswerIsRefused) {
  const auto question = PolicyQuestion::make(letters(3, 9), 0, 1, "abc");
  ASSERT_FALSE(question);
  EXPECT_EQ(question.error().message,
            "the prompt of 3 tokens leaves no room within agent.max_tokens = 3");
}

TEST(PolicyQuestionTest, TheAnswerIsTheStreamedTextWithoutItsEndToken) {
  const PolicyText text = letters(10, 9);
  auto question = PolicyQuestion::make(text, 0, 1, "a");
  EXPECT_FALSE(question->take(text, chunk_for(*question, {'x', 'y'})));
  EXPECT_EQ(question->take(text, chunk_for(*question, {'z', 0}, FinishReason::stop_token)), "xyz");
}

TEST(PolicyQuestionTest, TokensOfAnEarlierRequestAndBeyondTheCreditAreIgnored) {
  const PolicyText text = letters(10, 3);
  auto question = PolicyQuestion::make(text, 0, 2, "a");
  TokenChunk earlier = chunk_for(*question, {'o', 'l', 'd'}, FinishReason::length);
  earlier.turn = 1;
  EXPECT_FALSE(question->take(text, earlier));
  const auto answer =
      question->take(text, chunk_for(*question, {'a', 'b', 'c', 'd'}, FinishReason::length));
  EXPECT_EQ(answer, "abc");
}

}  // namespace
}  // namespace warpsmith::actors

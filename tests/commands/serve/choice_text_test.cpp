// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "commands/serve/choice_text.hpp"
#include "policy/format/tokenizer_json.hpp"

namespace warpsmith::commands {
namespace {

/// Adds the tokens of texts and collects what comes out.
class ChoiceTextTest : public testing::Test {
 protected:
  /// Ends with a stop token if `finish` says so.
  ChoiceDelta all(const std::string& text, FinishReason finish = FinishReason::stop_token) {
    ChoiceText choice(tokenizer_, request_, ToolSyntax::hermes);
    ChoiceDelta sum;
    const auto add = [&](const AnswerToken& token) {
      choice.add(token);
      ChoiceDelta delta = choice.take();
      sum.text += delta.text;
      sum.log_probs.insert(sum.log_probs.end(), delta.log_probs.begin(), delta.log_probs.end());
      for (ApiCall& call : delta.calls) sum.calls.push_back(std::move(call));
      if (delta.finish) sum.finish = delta.finish;
    };
    const auto tokens = tokenizer_.encode(text);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool last = i + 1 == tokens.size() && finish == FinishReason::length;
      add({tokens[i], -0.5F, last ? finish : FinishReason::none});
    }
    if (finish == FinishReason::stop_token) add({0, -0.5F, finish});
    tokens_ = choice.tokens();
    return sum;
  }
  void offer_tool() {
    request_.tools.push_back({"clock", "{}", R"({"properties":{"zone":{"type":"string"}}})"});
  }

  policy::Tokenizer tokenizer_ = policy::read_tokenizer("configs/policy/tiny").value();
  ApiRequest request_;
  int64_t tokens_ = 0;
};

TEST_F(ChoiceTextTest, TheStopTokenIsNotTextButIsCounted) {
  const ChoiceDelta delta = all("int x = 5; // €");
  EXPECT_EQ(delta.text, "int x = 5; // €");
  EXPECT_EQ(delta.finish, "stop");
  EXPECT_EQ(tokens_, std::ssize(tokenizer_.encode("int x = 5; // €")) + 1);
}

TEST_F(ChoiceTextTest, TheLimitIsALength) {
  EXPECT_EQ(all("int x", FinishReason::length).finish, "length");
}

TEST_F(ChoiceTextTest, AStopStringIsLeftOut) {
  request_.stop = {"= 5"};
  const ChoiceDelta delta = all("int x = 5; int y = 6;");
  EXPECT_EQ(delta.text, "int x ");
  EXPECT_EQ(delta.finish, "stop");
}

TEST_F(ChoiceTextTest, CallsOfOfferedToolsAreTakenOutOfTheText) {
  const std::string text =
      "Let me see.\n<tool_call>\n{\"name\": \"clock\", \"arguments\": "
      "{\"zone\": \"UTC\"}}\n</tool_call>";
  EXPECT_EQ(all(text).text, text) << "without tools it is text";
  offer_tool();
  const ChoiceDelta delta = all(text);
  EXPECT_EQ(delta.text, "Let me see.\n");
  ASSERT_EQ(delta.calls.size(), 1);
  EXPECT_EQ(delta.calls[0].name, "clock");
  EXPECT_EQ(delta.calls[0].arguments, R"({"zone":"UTC"})");
  EXPECT_EQ(delta.finish, "tool_calls");
}

TEST_F(ChoiceTextTest, ACallThatDoesNotParseStaysText) {
  offer_tool();
  const ChoiceDelta delta = all("<tool_call>\n{\"name\": \"clo", FinishReason::length);
  EXPECT_EQ(delta.text, "<tool_call>\n{\"name\": \"clo");
  EXPECT_EQ(delta.finish, "length");
  EXPECT_TRUE(delta.calls.empty());
}

TEST_F(ChoiceTextTest, LogProbsAreThoseOfTheTextsTokens) {
  request_.log_probs = true;
  const ChoiceDelta delta = all("x = 12345");
  std::string text;
  for (const TokenLogProb& one : delta.log_probs) {
    EXPECT_EQ(one.offset, text.size());
    text += one.bytes;
  }
  EXPECT_EQ(text, "x = 12345");
}

TEST_F(ChoiceTextTest, AnInfiniteLogProbIsTheLowestFiniteOne) {
  request_.log_probs = true;
  ChoiceText choice(tokenizer_, request_, ToolSyntax::hermes);
  choice.add(
      {tokenizer_.encode("x")[0], -std::numeric_limits<float>::infinity(), FinishReason::none});
  EXPECT_EQ(choice.take().log_probs.at(0).log_prob, lowest_log_prob);
}

TEST_F(ChoiceTextTest, NothingFollowsTheEnd) {
  request_.stop = {"x"};
  ChoiceText choice(tokenizer_, request_, ToolSyntax::hermes);
  const int32_t x = tokenizer_.encode("x")[0];
  choice.add({x, 0, FinishReason::none});
  EXPECT_TRUE(choice.ended());
  (void)choice.take();
  choice.add({x, 0, FinishReason::none});
  EXPECT_TRUE(choice.take().empty());
  EXPECT_EQ(choice.tokens(), 1);
}

TEST(MarkerFilterTest, AMarkerIsFoundAcrossPieces) {
  MarkerFilter gate({"STOP"});
  EXPECT_EQ(gate.add("go S"), "go ");
  EXPECT_EQ(gate.add("T"), "");
  EXPECT_EQ(gate.add("OP and on"), "");
  EXPECT_TRUE(gate.found());
  EXPECT_EQ(gate.held(), "STOP and on");
  EXPECT_EQ(gate.add("more"), "");
}

TEST(MarkerFilterTest, AnIncompleteMarkerIsSent) {
  MarkerFilter gate({"STOP"});
  EXPECT_EQ(gate.add("ST"), "");
  EXPECT_EQ(gate.add("ART S"), "START ");
  EXPECT_EQ(gate.flush(), "S");
  EXPECT_FALSE(gate.found());
}

TEST(MarkerFilterTest, TheFirstOfSeveralMarkersInTheTextCounts) {
  MarkerFilter gate({"cd", "bc"});
  EXPECT_EQ(gate.add("abcd"), "a");
  EXPECT_EQ(gate.held(), "bcd");
}

TEST(MarkerFilterTest, ARepeatedBeginningIsNotMissed) {
  MarkerFilter gate({"aab"});
  EXPECT_EQ(gate.add("aa"), "");
  EXPECT_EQ(gate.add("a"), "a");
  EXPECT_EQ(gate.add("b"), "");
  EXPECT_TRUE(gate.found());
}

TEST(MarkerFilterTest, CharactersAreSentWhole) {
  MarkerFilter gate({});
  EXPECT_EQ(gate.add("\xE2\x82"), "");
  EXPECT_EQ(gate.add("\xAC!"), "€!");
  EXPECT_EQ(gate.add("\xF0\x9F\x98"), "");
  EXPECT_EQ(gate.flush(), "\uFFFD") << "a character that was cut";
}

TEST(MarkerFilterTest, BytesThatAreNotTextBecomeReplacementCharacters) {
  MarkerFilter gate({});
  EXPECT_EQ(gate.add("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(gate.add("\x80\x80"), "\uFFFD\uFFFD");
}

TEST(MarkerFilterTest, AMarkerInTheMiddleOfCharactersIsFound) {
  MarkerFilter gate({"é€"});
  EXPECT_EQ(gate.add("x\xC3"), "x");
  EXPECT_EQ(gate.add("\xA9\xE2\x82"), "");
  EXPECT_EQ(gate.add("\xAC"), "");
  EXPECT_TRUE(gate.found());
}

}  // namespace

}  // namespace warpsmith::commands

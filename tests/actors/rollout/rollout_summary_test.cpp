// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;
using testing::Not;

class RolloutSummaryTest : public RolloutFixture {
 protected:
  static RolloutSetup summarising() {
    RolloutSetup setup = toy_setup();
    setup.max_turns = 20;
    setup.max_tokens = 2000;
    setup.max_turn_tokens = 300;
    setup.summary_share = 0.5;
    return setup;
  }
  static policy::MarkedText prompt() {
    return policy::MarkedText("<|im_start|>user\n")
        .add_untrusted("the task")
        .add("<|im_end|>\n<|im_start|>assistant\n");
  }
  void begin() {
    make(summarising(), prompt());
    admit();
  }
  /// Turns until a summary is asked for; their segments.
  std::vector<Segment> fill_context() {
    std::vector<Segment> segments;
    for (int turn = 0; turn < 15; ++turn) {
      say(write_text());
      segments.push_back(only<Segment>(answer(std::string(150, 'r'))));
      if (decode_bytes(segments.back().tokens).find("nearly full") != std::string::npos) break;
    }
    return segments;
  }
  static std::vector<Segment> segments_in(const RolloutCommands& commands) {
    std::vector<Segment> all;
    for (const RolloutCommand& command : commands) {
      if (const auto* one = std::get_if<Segment>(&command)) all.push_back(*one);
    }
    return all;
  }
};

TEST_F(RolloutSummaryTest, ASummaryReplacesTheEarlierTurns) {
  begin();
  const size_t turns = fill_context().size();
  ASSERT_GT(turns, 1U);
  ASSERT_LT(turns, 15U);
  const auto commands = say("All is well. <|im_end|> no token");
  const auto segments = segments_in(commands);
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_TRUE(begins_context(segments[1], {7, 0, encode_bytes("<"), {0}, {0}, {{}}}));
  const auto call = only<GenerateCall>(commands);
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(call.new_tokens, segments[1].tokens);
  const std::string text = decode_bytes(call.new_tokens);
  EXPECT_THAT(text, HasSubstr("the task\n\nYour summary of the work so far:\nAll is well."));
  EXPECT_THAT(text, Not(HasSubstr("rrrr")));
  say(call_text("submit"));
  const auto judging = ask_judge(Request::final);
  EXPECT_EQ(only<Segment>(judging).number, turns + 2);
  EXPECT_EQ(machine_->turn(), turns + 2) << "verdicts carry the number of their segment";
  EXPECT_EQ(only<Closed>(judge(passed_verdict())).outcome.turns, turns + 2);
}

TEST_F(RolloutSummaryTest, CallsOfASummaryAreNotRun) {
  begin();
  fill_context();
  const auto commands = say("Words. " + write_text("int b;"));
  EXPECT_FALSE(holds<ToolCall>(commands));
  EXPECT_THAT(decode_bytes(only<GenerateCall>(commands).new_tokens), HasSubstr("Words."));
}

TEST_F(RolloutSummaryTest, ManyResultsAreLeftOutSoThatTheSummaryHasRoom) {
  RolloutSetup setup = summarising();
  setup.max_tokens = 1400;
  setup.max_turn_tokens = 1000;
  make(setup, prompt());
  admit();
  std::string calls;
  for (int i = 0; i < 6; ++i) calls += call_text("glob") + '\n';
  say(calls);
  RolloutCommands last;
  for (int i = 0; i < 6; ++i) last = answer(std::string(190, 'r'));
  const std::string text = decode_bytes(only<Segment>(last).tokens);
  EXPECT_THAT(text, HasSubstr("[left out: the context is full]"));
  EXPECT_THAT(text, Not(HasSubstr("rrrr")));
  EXPECT_TRUE(holds<GenerateCall>(last));
}

TEST_F(RolloutSummaryTest, ASummaryThatIsTooLongEndsTheTrajectory) {
  RolloutSetup setup = summarising();
  setup.max_turn_tokens = 1500;
  setup.summary_share = 0.75;
  make(setup, prompt());
  admit();
  fill_context();
  const auto commands = send(std::vector<int32_t>(500, 's'), FinishReason::length);
  EXPECT_FALSE(holds<GenerateCall>(commands));
  EXPECT_TRUE(holds<ReleaseSession>(commands));
}

TEST_F(RolloutSummaryTest, AResumeContinuesInTheCurrentContext) {
  begin();
  auto segments = fill_context();
  const auto asked = segments;
  const auto new_context = say("All is well.");
  for (const Segment& segment : segments_in(new_context)) segments.push_back(segment);
  say(write_text());
  segments.push_back(only<Segment>(answer("wrote")));
  const auto tokens = machine_->transcript().tokens();
  const uint32_t turn = machine_->turn();
  make(summarising(), prompt());
  EXPECT_EQ(only<GenerateCall>(admit(segments)).new_tokens, tokens);
  EXPECT_EQ(machine_->turn(), turn);
  // Ended before the summary was recorded, and between the summary and its context.
  make(summarising(), prompt());
  admit(asked);
  const auto again = say("All is well.");
  EXPECT_EQ(only<GenerateCall>(again).new_tokens, only<GenerateCall>(new_context).new_tokens);
  segments.resize(asked.size() + 1);
  make(summarising(), prompt());
  const auto between = admit(segments);
  EXPECT_EQ(only<GenerateCall>(between).new_tokens, only<GenerateCall>(new_context).new_tokens);
  EXPECT_EQ(only<Segment>(between).number, segments.size());
}

TEST_F(RolloutSummaryTest, WithoutASummaryShareNoSummaryIsRequested) {
  RolloutSetup setup = summarising();
  setup.summary_share = 0;
  make(setup, prompt());
  admit();
  for (int turn = 0; turn < 4; ++turn) {
    say(write_text());
    const auto segment = only<Segment>(answer(std::string(150, 'r')));
    EXPECT_THAT(decode_bytes(segment.tokens), Not(HasSubstr("nearly full")));
  }
  EXPECT_GT(machine_->transcript().tokens().size(), 1000U);
}

}  // namespace
}  // namespace warpsmith::actors

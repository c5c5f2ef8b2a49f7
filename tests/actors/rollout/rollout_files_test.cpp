// SPDX-License-Identifier: Apache-2.0
// A rollout whose answer contains files: one prompt, one answer, one verdict.
#include "actors/rollout/rollout_machine.hpp"
#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

const std::string whole_answer = "Here:\n```cpp solution/kernel.cpp\nint a;\n```";

class RolloutFilesTest : public RolloutFixture {
 protected:
  RolloutFilesTest() {
    RolloutSetup setup = toy_setup();
    setup.answer = AnswerForm::files;
    setup.max_turns = 1;
    make(std::move(setup));
  }
};

TEST_F(RolloutFilesTest, TheFilesAreWrittenAndSubmitted) {
  admit();
  const auto write = only<ToolCall>(say(whole_answer));
  EXPECT_EQ(write.name, "write");
  EXPECT_EQ(write.arguments.at("path"), "solution/kernel.cpp");
  EXPECT_EQ(write.arguments.at("content"), "int a;");
  const auto submit = only<ToolCall>(answer("wrote solution/kernel.cpp (1 line)"));
  EXPECT_EQ(submit.name, "submit");
  const auto judged = ask_judge(Request::final);
  EXPECT_EQ(only<Segment>(judged).number, 0U) << "prompt and answer are one segment";
  const Outcome outcome = only<Closed>(judge(passed_verdict())).outcome;
  EXPECT_EQ(outcome.reward, 3);
  EXPECT_EQ(outcome.turns, 1U);
  EXPECT_FALSE(outcome.truncated);
}

TEST_F(RolloutFilesTest, AnAnswerWithoutFilesEndsUnrewarded) {
  admit();
  const auto closed =
      only<Closed>(say("<tool_call>\n<function=submit>\n</function>\n</tool_call>"));
  EXPECT_EQ(closed.outcome.reward, -1);
  EXPECT_FALSE(closed.outcome.verdict.has_value());
  EXPECT_FALSE(closed.outcome.truncated) << "nothing cut the answer";
}

TEST_F(RolloutFilesTest, AnAnswerCutByALimitCountsAsTruncated) {
  admit();
  const auto commands = send(encode_bytes("```cpp solution/kernel.cpp\nint"), FinishReason::length);
  EXPECT_TRUE(only<Closed>(commands).outcome.truncated);
}

TEST_F(RolloutFilesTest, ThereIsNoSecondTurn) {
  admit();
  say(whole_answer);
  answer("wrote solution/kernel.cpp (1 line)");
  const auto refused = answer("error: nothing to submit");
  EXPECT_FALSE(holds<GenerateCall>(refused));
  const auto closed = only<Closed>(answer("error: nothing to submit"));  // of the frozen solution
  EXPECT_FALSE(closed.outcome.truncated);
  EXPECT_EQ(closed.outcome.reward, -1);
}

TEST_F(RolloutFilesTest, AResumeJudgesTheRecordedAnswer) {
  admit();
  say(whole_answer);
  answer("wrote solution/kernel.cpp (1 line)");
  const auto segment = only<Segment>(ask_judge(Request::final));

  RolloutSetup setup = toy_setup();
  setup.answer = AnswerForm::files;
  setup.max_turns = 1;
  make(std::move(setup));
  const auto rebuilt = only<ToolCall>(admit({segment}));
  EXPECT_EQ(rebuilt.name, "write");
  EXPECT_EQ(rebuilt.arguments.at("content"), "int a;");
  const auto submit = only<ToolCall>(answer("wrote solution/kernel.cpp (1 line)"));
  EXPECT_EQ(submit.name, "submit");
  ask_judge(Request::final);
  const Outcome outcome = only<Closed>(judge(passed_verdict())).outcome;
  EXPECT_EQ(outcome.reward, 3);
  EXPECT_FALSE(outcome.truncated);
}

TEST_F(RolloutFilesTest, ABrainWithoutAnAnswerIsASeparateReason) {
  const auto asked = only<GenerateCall>(admit());
  const auto dropped = only<Dropped>(machine_->unanswered(asked.turn, "no recorded solution"));
  EXPECT_EQ(dropped.reason, DropReason::no_answer);
  EXPECT_EQ(dropped.detail, "no recorded solution");
}

}  // namespace
}  // namespace warpsmith::actors

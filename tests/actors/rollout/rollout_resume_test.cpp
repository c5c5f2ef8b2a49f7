// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

class RolloutResumeTest : public RolloutFixture {
 protected:
  /// Segments of a trajectory that wrote, then edited.
  std::vector<Segment> recorded() {
    make();
    admit();
    std::vector<Segment> segments;
    say(write_text());
    segments.push_back(only<Segment>(answer("wrote")));
    say(edit_text());
    segments.push_back(only<Segment>(answer("edited")));
    return segments;
  }
  static std::string edit_text() {
    return call_text("edit", "<parameter=path>\nsolution/kernel.cpp\n</parameter>\n");
  }
};

TEST_F(RolloutResumeTest, ContinuesWithTheWholePrefixAndTheNextNumber) {
  const auto segments = recorded();
  const auto before = machine_->transcript().tokens();
  make();
  const auto call = only<GenerateCall>(admit(segments));
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(call.new_tokens, before);
  say(call_text("submit"));
  EXPECT_EQ(machine_->phase(), RolloutPhase::rebuilding);
}

TEST_F(RolloutResumeTest, WorkspaceIsRebuiltBeforeTheFirstCall) {
  const auto segments = recorded();
  make();
  admit(segments);
  const auto first = say(call_text("submit"));
  EXPECT_TRUE(holds<ReleaseWorkspace>(first)) << "an old workspace may be left";
  EXPECT_EQ(only<ToolCall>(first).name, "write");
  EXPECT_TRUE(only<ToolCall>(first).repeat) << "so that no background job starts twice";
  EXPECT_EQ(only<ToolCall>(answer("wrote")).name, "edit");
  const auto submit = only<ToolCall>(answer("edited"));
  EXPECT_EQ(submit.name, "submit");
  EXPECT_FALSE(submit.repeat);
  const auto judging = ask_judge(Request::final);
  EXPECT_EQ(only<Segment>(judging).number, 2U);
  const auto outcome = only<Closed>(judge(passed_verdict())).outcome;
  EXPECT_EQ(outcome.turns, 3U);
  EXPECT_EQ(outcome.tool_calls, 3U);
}

TEST_F(RolloutResumeTest, UnrecordedWorkOfAnotherRolloutIsIgnored) {
  make();
  machine_->admitted({true, 7, machine_->task().task, {}, true, {}});
  const auto first = say(write_text());
  EXPECT_TRUE(holds<ReleaseWorkspace>(first));
  EXPECT_EQ(only<ToolCall>(first).name, "write");
}

TEST_F(RolloutResumeTest, LostSessionGetsTheWholePrefix) {
  recorded();
  say(call_text("verify"));
  machine_->session_lost();
  const auto call = only<GenerateCall>(answer("told"));
  EXPECT_TRUE(call.whole);
  EXPECT_EQ(call.new_tokens, machine_->transcript().tokens());
}

TEST_F(RolloutResumeTest, RecordedEndIsJudgedWithoutSampling) {
  auto segments = recorded();
  say(call_text("submit"));
  segments.push_back(only<Segment>(ask_judge(Request::final)));
  make();
  const auto commands = admit(segments);
  EXPECT_FALSE(holds<GenerateCall>(commands));
  EXPECT_FALSE(holds<Segment>(commands)) << "no segment is recorded twice";
  EXPECT_EQ(only<ToolCall>(commands).name, "write");
  answer("wrote");
  EXPECT_EQ(only<ToolCall>(answer("edited")).name, "submit");
  ask_judge(Request::final);
  const auto outcome = only<Closed>(judge(passed_verdict())).outcome;
  EXPECT_FALSE(outcome.truncated);
  EXPECT_EQ(outcome.turns, 3U);
}

TEST_F(RolloutResumeTest, RecordedTurnLimitStillCountsAsTruncation) {
  auto setup = toy_setup();
  setup.max_turns = 1;
  make(setup);
  admit();
  say(write_text());
  const auto segment = only<Segment>(answer("wrote"));
  make(setup);
  EXPECT_EQ(only<ToolCall>(admit({segment})).name, "write");
  answer("wrote");
  ask_judge(Request::final);
  EXPECT_TRUE(only<Closed>(judge(passed_verdict())).outcome.truncated);
}

TEST_F(RolloutResumeTest, GapInTheRecordIsDropped) {
  auto segments = recorded();
  segments.erase(segments.begin());
  make();
  const auto dropped = only<Dropped>(admit(segments));
  EXPECT_EQ(dropped.reason, DropReason::infrastructure);
  EXPECT_THAT(dropped.detail, HasSubstr("recorded segments"));
}

TEST_F(RolloutResumeTest, LostExecutorRebuildsThenRunsTheCall) {
  recorded();
  say(call_text("verify"));
  const auto again = fail_now();
  EXPECT_EQ(only<ToolCall>(again).name, "write");
  answer("wrote");
  EXPECT_EQ(only<ToolCall>(answer("edited")).name, "verify");
  ask_judge(Request::verify);
  EXPECT_TRUE(holds<GenerateCall>(judge(passed_verdict())));
}

TEST_F(RolloutResumeTest, ExecutorLostWhileSamplingMattersAtTheNextCall) {
  recorded();
  machine_->workspace_lost();
  EXPECT_EQ(machine_->phase(), RolloutPhase::generating);
  EXPECT_EQ(only<ToolCall>(say(call_text("verify"))).name, "write");
}

TEST_F(RolloutResumeTest, FailureWhileRebuildingStartsTheRebuildAgain) {
  recorded();
  say(call_text("verify"));
  fail_now();
  answer("wrote");
  EXPECT_EQ(only<ToolCall>(fail_now()).name, "write");
  EXPECT_TRUE(holds<Dropped>(fail_now())) << "retries are bounded";
}

}  // namespace
}  // namespace warpsmith::actors

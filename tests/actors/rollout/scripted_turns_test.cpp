// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/rollout_machine.hpp"

#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

std::string bash_text(const std::string& command) {
  return call_text("bash", "<parameter=command>\n" + command + "\n</parameter>\n");
}

AgentConfig agent(std::vector<std::string> turns) {
  AgentConfig config;
  config.syntax = ToolSyntax::xml;
  config.scripted_turns = std::move(turns);
  return config;
}

class ScriptedTurnsTest : public RolloutFixture {
 protected:
  /// First writes, then lists forever.
  void begin(std::vector<Segment> recorded = {}) {
    auto setup = toy_setup();
    setup.script = scripted_calls(agent({write_text(), bash_text("ls")})).value();
    make(setup);
    admit(std::move(recorded));
  }
  /// Meaningless tokens, up to the limit of a turn.
  RolloutCommands babble() { return send({'x', 'y'}, FinishReason::length); }
};

TEST_F(ScriptedTurnsTest, AnyTurnRunsTheCallsOfItsText) {
  begin();
  EXPECT_EQ(only<ToolCall>(babble()).name, "write");
  const auto first = only<Segment>(answer("wrote"));
  EXPECT_EQ(std::ranges::count(first.action_mask, 1), 2) << "the sampled tokens, no others";
  EXPECT_EQ(only<ToolCall>(say("done")).name, "bash") << "a turn without calls continues";
  answer("a b");
  EXPECT_EQ(only<ToolCall>(babble()).name, "bash") << "the last text is for all further turns";
  const auto third = only<Segment>(answer(std::string(300, 'r')));
  EXPECT_EQ(third.number, 2U);
  EXPECT_GT(third.size(), 200U) << "the result is real";
}

TEST_F(ScriptedTurnsTest, ATrajectoryEndsAtItsLimitAndItsFilesAreJudged) {
  begin();
  for (int turn = 0; turn < 3; ++turn) {
    babble();
    answer("fine");
  }
  babble();
  const auto end = answer("fine");  // the fourth turn is the last
  EXPECT_TRUE(holds<Segment>(end));
  EXPECT_EQ(machine_->phase(), RolloutPhase::freezing);
  ask_judge(Request::final);
  const auto outcome = only<Closed>(judge(passed_verdict())).outcome;
  EXPECT_TRUE(outcome.truncated);
  EXPECT_EQ(outcome.turns, 4U);
  EXPECT_EQ(outcome.tool_calls, 4U);
}

TEST_F(ScriptedTurnsTest, AResumedTrajectoryContinuesTheScript) {
  begin();
  babble();
  const auto recorded = only<Segment>(answer("wrote"));
  begin({recorded});
  EXPECT_EQ(machine_->phase(), RolloutPhase::generating);
  babble();
  EXPECT_EQ(machine_->phase(), RolloutPhase::rebuilding) << "the write is repeated first";
  EXPECT_EQ(only<ToolCall>(answer("wrote")).name, "bash");
}

TEST_F(ScriptedTurnsTest, BadTextsAreRefusedWithTheirPlace) {
  const auto refusal = [](std::vector<std::string> turns) {
    const auto calls = scripted_calls(agent(std::move(turns)));
    EXPECT_FALSE(calls);
    return calls ? "" : calls.error().message;
  };
  EXPECT_THAT(refusal({bash_text("ls"), "no call"}),
              HasSubstr("agent.scripted_turns[1]: expected a tool call, got none"));
  EXPECT_THAT(refusal({"<tool_call>"}), HasSubstr("agent.scripted_turns[0]: "));
  EXPECT_THAT(refusal({call_text("fly")}), HasSubstr("got \"fly\""));
}

}  // namespace
}  // namespace warpsmith::actors

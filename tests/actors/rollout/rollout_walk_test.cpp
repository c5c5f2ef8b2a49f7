// SPDX-License-Identifier: Apache-2.0
// Random walks: for any behaviour of the other actors a trajectory ends once, its segments are
// numbered without a gap and contain exactly its tokens, and an infrastructure failure earns no
// reward.
#include "runtime/random_stream.hpp"
#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

class RolloutWalkTest : public RolloutFixture {
 protected:
  /// Checks and records commands as the ledger does.
  void record(const RolloutCommands& commands) {
    for (const RolloutCommand& command : commands) {
      if (const auto* segment = std::get_if<Segment>(&command)) {
        ASSERT_EQ(segment->number, segments_);
        ASSERT_EQ(ends_, 0) << "a segment after the end";
        ASSERT_TRUE(segment->validate());
        ++segments_;
        tokens_.insert(tokens_.end(), segment->tokens.begin(), segment->tokens.end());
      }
      const auto* closed = std::get_if<Closed>(&command);
      if (closed || std::holds_alternative<Dropped>(command)) ++ends_;
      if (closed && infra_only_) {
        EXPECT_EQ(closed->outcome.verdict, std::nullopt);
      }
    }
  }

  RolloutCommands generate(RandomStream& random) {
    static const std::vector<std::string> says{write_text(),
                                               call_text("submit"),
                                               "done",
                                               call_text("verify"),
                                               "<tool_call>",
                                               "",
                                               write_text() + write_text() + call_text("bash")};
    const std::string& text = says[random.below(says.size())];
    switch (random.below(6)) {
      case 0:
        return send({'<'}, FinishReason::none);
      case 1:
        record(send({'t'}, FinishReason::none));
        return fail_now();
      case 2:
        return machine_->repeat();
      default:
        return say(text);
    }
  }

  RolloutCommands step(RandomStream& random) {
    if (random.below(20) == 0) return fail_now();
    if (random.below(60) == 0) machine_->workspace_lost();
    switch (machine_->phase()) {
      case RolloutPhase::generating:
        return generate(random);
      case RolloutPhase::judging_tool:
      case RolloutPhase::judging_final:
        if (infra_only_ || random.below(4) == 0) return judge(InfraFailure{});
        return judge(passed_verdict());
      case RolloutPhase::freezing:
        return random.below(3) == 0 ? answer("error: none") : ask_judge(Request::final);
      case RolloutPhase::running_tool:
        if (random.below(2) == 0) return answer("told");
        return ask_judge(static_cast<Request>(random.below(4)));
      default:
        return answer("replayed");
    }
  }

  void walk(uint64_t seed) {
    RandomStream random{seed, "rollout_walk"};
    auto setup = toy_setup();
    setup.max_tokens = static_cast<int64_t>(22 + random.below(1500));
    setup.max_turn_tokens = static_cast<int64_t>(500 + random.below(500));
    make(setup);
    infra_only_ = seed % 3 == 0;
    segments_ = 0;
    ends_ = 0;
    tokens_.clear();
    record(admit());
    // A scripted turn may exceed the credit, which no generator does: end the turn instead.
    for (int i = 0; i < 2000 && !machine_->over(); ++i) {
      try {
        record(step(random));
      } catch (const std::invalid_argument&) {
        record(send({}, FinishReason::length));
      }
    }
  }

  uint32_t segments_ = 0;
  int ends_ = 0;
  bool infra_only_ = false;
  std::vector<int32_t> tokens_;
};

TEST_F(RolloutWalkTest, EveryTrajectoryEndsOnceWithItsTokensRecorded) {
  int finished = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    walk(seed);
    ASSERT_TRUE(machine_->over()) << "seed " << seed << " hangs in "
                                  << to_string(machine_->phase());
    ASSERT_EQ(ends_, 1) << "seed " << seed;
    const auto& all = machine_->transcript().tokens();
    ASSERT_LE(static_cast<int64_t>(all.size()), 1522) << "seed " << seed;
    if (machine_->phase() != RolloutPhase::finished) continue;
    ASSERT_EQ(tokens_, all) << "seed " << seed;
    ++finished;
  }
  EXPECT_GT(finished, 1000) << "the walk must reach verdicts";
}

}  // namespace
}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
// The choice of the submission that counts for a trajectory.
#include "runtime/submission.hpp"
#include "tests/actors/rollout/rollout_fixture.hpp"

namespace warpsmith::actors {
namespace {

class RolloutBestTest : public RolloutFixture {};

TEST_F(RolloutBestTest, WithoutASubmissionTheBestOfTheJudgedOnesCounts) {
  make();
  admit();
  const auto try_one = [&](const std::string& content, const Verdict& verdict) {
    say(write_text(content));
    answer("wrote");
    say(call_text("profile"));
    const auto judging = ask_judge(Request::profile, content);
    judge(verdict);
  };
  try_one("fast", passed_verdict(3.0));
  try_one("slow", passed_verdict(1.5));  // the fourth turn, and the last
  EXPECT_EQ(machine_->phase(), RolloutPhase::judging_final);
  const auto closed = only<Closed>(judge(passed_verdict(3.0)));
  EXPECT_EQ(closed.outcome.source_hash, source_hash({{"kernel.cpp", "fast"}}));
  EXPECT_TRUE(closed.outcome.truncated);
}

TEST_F(RolloutBestTest, AWorseSubmissionDoesNotReplaceTheBest) {
  for (const double again : {3.0, 1.0}) {
    make();
    admit();
    say(write_text("fast"));
    answer("wrote");
    say(call_text("profile"));
    ask_judge(Request::profile, "fast");
    judge(passed_verdict(3.0));
    say(call_text("submit"));
    ask_judge(Request::final, "slow");
    const auto second = only<EvaluateCall>(judge(passed_verdict(1.5))).request;
    EXPECT_EQ(second.want, Request::final);
    EXPECT_EQ(second.submission.files.at("kernel.cpp"), "fast");
    const auto outcome = only<Closed>(judge(passed_verdict(again))).outcome;
    const std::string kept = again > 1.5 ? "fast" : "slow";
    EXPECT_EQ(outcome.source_hash, source_hash({{"kernel.cpp", kept}}));
    EXPECT_NEAR(outcome.speedup_eager.value(), std::max(again, 1.5) - 0.01, 1e-9);
  }
}

TEST_F(RolloutBestTest, TheSubmissionsVerdictCountsIfTheBestOneGetsNone) {
  make();
  admit();
  say(write_text("fast"));
  answer("wrote");
  say(call_text("profile"));
  ask_judge(Request::profile, "fast");
  judge(passed_verdict(3.0));
  say(call_text("submit"));
  ask_judge(Request::final, "slow");
  judge(passed_verdict(1.5));
  fail_now();
  fail_now();
  const auto outcome = only<Closed>(fail_now()).outcome;
  EXPECT_EQ(outcome.source_hash, source_hash({{"kernel.cpp", "slow"}}));
}

TEST_F(RolloutBestTest, ABetterSubmissionIsJudgedOnce) {
  make();
  admit();
  say(write_text("slow"));
  answer("wrote");
  say(call_text("profile"));
  ask_judge(Request::profile, "slow");
  judge(passed_verdict(1.5));
  say(call_text("submit"));
  ask_judge(Request::final, "fast");
  EXPECT_TRUE(holds<Closed>(judge(passed_verdict(3.0))));
}

TEST_F(RolloutBestTest, UnsubmittedFilesAreJudgedAsTheyAreIfTheNewestCount) {
  RolloutSetup setup = toy_setup();
  setup.unsubmitted = Unsubmitted::newest;
  make(setup);
  admit();
  say(write_text());
  answer("wrote");
  say(call_text("verify"));
  ask_judge(Request::verify);
  judge(passed_verdict());
  EXPECT_EQ(only<ToolCall>(say("that is all")).name, "submit");
}

TEST_F(RolloutBestTest, TheBestRecordedSubmissionIsFoundAgainAndJudged) {
  make();
  admit();
  std::vector<Segment> segments;
  say(write_text("fast") + "\n" + call_text("verify"));
  answer("wrote");
  ask_judge(Request::verify, "fast");
  segments.push_back(only<Segment>(judge(passed_verdict(3.0))));
  say(write_text("slow"));
  segments.push_back(only<Segment>(answer("wrote")));
  make();
  admit(segments, {source_hash({{"kernel.cpp", "fast"}}), 3.99});
  EXPECT_EQ(only<ToolCall>(say("that is all")).name, "write");
  EXPECT_EQ(only<ToolCall>(answer("wrote")).name, "verify");
  EXPECT_EQ(only<ToolCall>(ask_judge(Request::verify, "fast")).name, "write");
  const auto judged = only<EvaluateCall>(answer("wrote")).request;
  EXPECT_EQ(judged.want, Request::final);
  EXPECT_EQ(judged.submission.files.at("kernel.cpp"), "fast");
}

TEST_F(RolloutBestTest, ARecordedSubmissionIsJudgedInAdditionToTheRecordedBest) {
  make();
  admit();
  std::vector<Segment> segments;
  say(write_text("fast") + "\n" + call_text("verify"));
  answer("wrote");
  ask_judge(Request::verify, "fast");
  segments.push_back(only<Segment>(judge(passed_verdict(3.0))));
  say(write_text("slow") + "\n" + call_text("submit"));
  answer("wrote");
  segments.push_back(only<Segment>(ask_judge(Request::final, "slow")));
  make();
  admit(segments, {source_hash({{"kernel.cpp", "fast"}}), 3.99});
  answer("wrote");
  ask_judge(Request::verify, "fast");
  EXPECT_EQ(only<ToolCall>(answer("wrote")).name, "submit");
  ask_judge(Request::final, "slow");
  const auto judged = only<EvaluateCall>(judge(passed_verdict(1.5))).request;
  EXPECT_EQ(judged.submission.files.at("kernel.cpp"), "fast");
}

}  // namespace
}  // namespace warpsmith::actors

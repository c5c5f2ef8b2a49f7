// SPDX-License-Identifier: Apache-2.0
#include "commands/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

ProgressView view(uint64_t admitted, seconds elapsed) {
  ProgressView view;
  view.counts.admitted = admitted;
  view.counts.in_flight = view.counts.open = 10;
  view.trajectories = 100;
  view.elapsed = elapsed;
  return view;
}

TEST(ProgressLineTest, ShowsReadyTasksBeforeTheFirstTrajectory) {
  ProgressView before = view(0, seconds{5});
  before.counts.in_flight = before.counts.open = 0;
  before.seen.values = {{"synthesis-0.accepted", 7}, {"synthesis-0.queued", 17}};
  before.seen.texts = {{"sandbox-0.phase", "softmax: mutation gate (dense)"}};
  const std::string line = ProgressLine{}.next(before);
  EXPECT_EQ(line, "tasks ready 7/24 | sandbox: softmax: mutation gate (dense) | 5 s");
  before.seen.values["synthesis-0.refused"] = 2;
  EXPECT_THAT(ProgressLine{}.next(before), HasSubstr("tasks ready 7/26, 2 refused |"));
  before.seen.values["synthesis-0.awaited"] = 24;
  EXPECT_THAT(ProgressLine{}.next(before),
              HasSubstr("tasks ready 7/24 to begin, 26 in all, 2 refused |"));
}

TEST(ProgressLineTest, SaysWhyTheRunEnds) {
  ProgressView last = view(10, seconds{40});
  last.failure = "learner-0 ended: no checkpoint could be written: No space left on device";
  EXPECT_THAT(ProgressLine{}.next(last), HasSubstr(" | FAILED: learner-0 ended: no checkpoint"));
}

TEST(ProgressLineTest, ShowsComposedTasksIfThereAreAny) {
  ProgressView before = view(0, seconds{5});
  before.seen.values = {
      {"synthesis-0.composed", 6}, {"synthesis-0.candidates", 8}, {"synthesis-0.accepted", 4}};
  EXPECT_THAT(ProgressLine{}.next(before), Not(HasSubstr("composed")));
  before.seen.texts = {{"composer-0.phase", "preparing"}};
  EXPECT_THAT(ProgressLine{}.next(before),
              HasSubstr("| composed 6 of 8 candidates (preparing), 4 tasks in use |"));
}

TEST(ProgressLineTest, ShowsTheWorkInProgressUntilTheFirstStep) {
  ProgressView early = view(10, seconds{40});
  early.seen.values = {{"sandbox-0.queued", 3}, {"learner-0.step", 0}};
  early.seen.texts = {{"sandbox-0.phase", "softmax: torch.compile"}};
  const std::string line = ProgressLine{}.next(early);
  EXPECT_THAT(line, HasSubstr("10 admitted, 0 ended"));
  EXPECT_THAT(line, HasSubstr("judge queue 3 | sandbox: softmax: torch.compile | 40 s"));
  early.counts.open = 8;
  early.counts.closed = 2;  // not yet trained
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("10 admitted, 2 ended"));
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("first trajectories: "));
  early.seen.values["learner-0.step"] = 1;  // of a resumed run
  early.resumed = true;
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("resumed: 10 admitted, 2 ended"));
  EXPECT_THAT(ProgressLine{}.next(early), Not(HasSubstr("reward")));
  early.seen.values["learner-0.reward"] = 1;
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("reward"));
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("| 40 s | sandbox: softmax: torch.compile"));
  early.counts.closed = 0;  // all that ended are trained; none is in a checkpoint yet
  EXPECT_THAT(ProgressLine{}.next(early), HasSubstr("reward"));
  early.seen.texts["sandbox-0.phase"] = "judging";
  EXPECT_THAT(ProgressLine{}.next(early), Not(HasSubstr("sandbox")));
}

TEST(ProgressLineTest, EarlyWarningsComeLast) {
  ProgressView now = view(40, seconds{40});
  now.seen.values = {{"learner-0.step", 9},
                     {"learner-0.reward", 1},
                     {"learner-0.warning.entropy_falls", 1},
                     {"learner-0.warning.unlikely_ratios", 0}};
  const std::string line = ProgressLine{}.next(now);
  EXPECT_TRUE(line.ends_with(" | WARNING: entropy_falls")) << line;
  EXPECT_EQ(early_warnings(now.seen), std::vector<std::string>{"entropy_falls"});
  now.seen.values["learner-0.warning.entropy_falls"] = 0;
  EXPECT_THAT(ProgressLine{}.next(now), Not(HasSubstr("WARNING")));
}

TEST(ProgressLineTest, RatesAreThoseOfTheWindow) {
  ProgressLine line{seconds{10}};
  const double tokens[] = {1000, 2000, 7000, 8000};  // at 10, 15, 20 and 25 seconds
  std::string last;
  for (int i = 0; i < 4; ++i) {
    ProgressView now = view(20, seconds{10 + 5 * i});
    now.seen.values["generator-0.sampled_tokens"] = tokens[i];
    last = line.next(now);
  }
  EXPECT_THAT(last, HasSubstr("600 tok/s"));  // from second 15 to 25
}

TEST(ProgressLineTest, TimeLeftIsThatOfTrajectoriesOrLimit) {
  ProgressLine line;
  ProgressView now = view(20, seconds{40});
  now.trains = false;
  EXPECT_THAT(line.next(now), Not(HasSubstr("left"))) << "most of the time was the start";
  now.counts.admitted = 60;  // 40 more in 20 s, 50 to go
  now.elapsed = seconds{60};
  EXPECT_THAT(line.next(now), HasSubstr("25 s left"));
  now.limit = seconds{70};
  EXPECT_THAT(line.next(now), HasSubstr("10 s left"));
}

TEST(ProgressLineTest, TimeLeftCountsWorkThatNoCheckpointHasYet) {
  ProgressLine line;
  ProgressView now = view(20, seconds{40});
  now.seen.values = {{"learner-0.step", 1}, {"learner-0.reward", 1}};
  now.counts.in_flight = 20;
  (void)line.next(now);
  now.counts.admitted = now.counts.in_flight = 60;  // a step has used 50, and no checkpoint is due
  now.elapsed = seconds{60};
  EXPECT_THAT(line.next(now), HasSubstr("25 s left"));
}

TEST(ProgressLineTest, AnEvaluationShowsNoLearner) {
  ProgressView now = view(60, seconds{50});
  now.trains = false;
  now.counts.in_flight = 60;  // nothing leaves the ledger
  now.counts.open = 10;
  now.seen.values = {{"sandbox-0.queued", 4}, {"generator-0.sampled_tokens", 5000}};
  ProgressLine line;
  EXPECT_EQ(line.next(now),
            "50/100 samples | 100 tok/s | queue judge 4 | idle gen 100% judge 100% | 50 s");
  now.elapsed = seconds{60};
  now.counts.open = 0;
  EXPECT_THAT(line.next(now), HasSubstr("60/100 samples")) << "10 more in 10 s";
  EXPECT_THAT(line.next(now), HasSubstr("| 40 s left"));
}

TEST(ProgressLineTest, NoTimeLeftIsShownBeforeATrajectoryEnds) {
  ProgressView now = view(10, seconds{40});
  now.counts.trained = 0;
  now.seen.values = {{"learner-0.step", 1}, {"learner-0.reward", 1}};
  now.counts.open = 9;
  EXPECT_THAT(ProgressLine{}.next(now), Not(HasSubstr("left")));
  now.limit = seconds{70};
  EXPECT_THAT(ProgressLine{}.next(now), HasSubstr("time limit in 30 s"));
  now.counts.admitted = 109;  // the last has ended
  EXPECT_THAT(ProgressLine{}.next(now), HasSubstr(" 0 s left"));
}

}  // namespace
}  // namespace warpsmith::commands

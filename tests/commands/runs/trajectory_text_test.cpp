// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/trajectory_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Order = TrajectorySelection::Order;

TrajectoryRow row(TrajectoryId id, double reward, const std::string& task = "softmax") {
  TrajectoryRow made;
  made.id = id;
  made.task_id = task;
  made.outcome = Outcome{.reward = reward, .turns = 2};
  return made;
}

std::vector<TrajectoryId> ids(const TrajectorySelection& choice) {
  std::vector<TrajectoryId> out;
  for (const TrajectoryRow& one :
       selected({row(1, 1), row(2, 3), row(3, -1, "sums"), row(4, 3)}, choice)) {
    out.push_back(one.id);
  }
  return out;
}

TEST(TrajectoryTextTest, ChoosesByRewardTaskAndNumber) {
  EXPECT_THAT(ids({}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(3, 4)) << "the newest";
  EXPECT_THAT(ids({.order = Order::best, .limit = 3}), ElementsAre(2, 4, 1));
  EXPECT_THAT(ids({.order = Order::worst, .limit = 1}), ElementsAre(3));
  EXPECT_THAT(ids({.task = "softmax"}), ElementsAre(1, 2, 4));
}

TEST(TrajectoryTextTest, AListHasALinePerTrajectory) {
  const std::string text = list_text(std::vector{row(7, 2, "softmax_rows")});
  EXPECT_THAT(text, HasSubstr("softmax_rows"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TrajectoryTextTest, ATrajectoryIsShownTurnByTurnWithItsVerdicts) {
  const auto config = load_run_config("configs/quickstart.toml", {});
  const auto text = read_text_model(*config);
  ASSERT_TRUE(text) << text.error().message;
  Trajectory trajectory{1, "softmax", {}, {.reward = 1, .turns = 1, .tool_calls = 1}};
  Segment segment{1, 0, {}, {}, {}, {}};
  const auto add = [&](const std::string& part, uint8_t sampled) {
    for (const int32_t token : text->tokenizer->encode(part)) {
      segment.tokens.push_back(token);
      segment.action_mask.push_back(sampled);
    }
  };
  add("the task", 0);
  add("int kernel;", 1);
  add("wrote it", 0);
  trajectory.segments.push_back(segment);
  VerdictRow verdict{1, 0, true, {}};
  verdict.verdict.feedback = "wrong: set 1\nmore";
  verdict.verdict.submission_hash = "a1";
  const std::string shown = transcript(trajectory, std::vector{verdict}, *text);
  EXPECT_EQ(shown,
            "trajectory 1, task softmax\n--- prompt\nthe task\n--- turn 1: sampled\nint kernel;\n"
            "--- final verdict: wrong | wrong: set 1 | submissions/a1\n--- results\nwrote it\n"
            "--- outcome: reward 1.00, no_submission, 1 turns, 1 calls\n");
}

}  // namespace
}  // namespace warpsmith::commands

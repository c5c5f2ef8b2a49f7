// SPDX-License-Identifier: Apache-2.0
#include "runtime/message_text.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(OneLineTest, LineEndsAreReplacedByLetters) {
  EXPECT_EQ(one_line("a\nb\r\n"), "a\\nb\\r\\n");
  EXPECT_EQ(one_line("größer\t1"), "größer\t1");
  EXPECT_EQ(one_line(""), "");
}

TEST(FileNameTest, OnlyAWholeNameWithoutAFolderIsReplaced) {
  EXPECT_EQ(with_file_name("task.py, line 3; /a/task.py, my_task.py, task.pyc", "task.py", "op.py"),
            "op.py, line 3; /a/task.py, my_task.py, task.pyc");
  EXPECT_EQ(with_file_name("kernel.cpp:1:2", "kernel.cpp", "kernel.cpp"), "kernel.cpp:1:2");
  EXPECT_EQ(with_file_name("(kernel.cpp) kernel.cpp.", "kernel.cpp", "k.cpp"), "(k.cpp) k.cpp.");
}

TEST(NearestNameTest, AHintIsTheNearestNameOrAllNames) {
  EXPECT_EQ(hint_for("improt", {"crawl", "import"}), "the nearest is \"import\"");
  EXPECT_EQ(hint_for("fly", {"crawl", "import"}), "expected one of crawl, import");
}

TEST(NearestNameTest, DistanceCountsEachEditAndNeighbourSwapOnce) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("lag", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("lamdba", "lambda"), 1U);
}

TEST(NearestNameTest, PicksTheClosestName) {
  const std::set<std::string> names{"learner.gamma", "learner.lambda", "run.seed"};
  EXPECT_EQ(nearest_name("learner.lamda", names), "learner.lambda");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(NearestNameTest, PathsAreComparedByTheirLastPartThenByTheirTable) {
  const std::set<std::string> keys{
      "agent.max_turns",   "learner.gpu",         "learner.optimizer.learning_rate",
      "learner.step",      "learner.step.tokens", "rollout.concurrent",
      "sft.learning_rate", "value.learning_rate"};
  EXPECT_EQ(nearest_path("learner.stepp", keys), "learner.step");
  EXPECT_EQ(nearest_path("learner.step_tokens", keys), "learner.step.tokens");
  EXPECT_EQ(nearest_path("learner.step.token", keys), "learner.step.tokens");
  EXPECT_EQ(nearest_path("learner.learning_rate", keys), "learner.optimizer.learning_rate");
  EXPECT_EQ(nearest_path("optimizer.learning_rate", keys), "learner.optimizer.learning_rate");
  EXPECT_EQ(nearest_path("sft.lerning_rate", keys), "sft.learning_rate");
  EXPECT_EQ(nearest_path("rollout.max_turns", keys), "agent.max_turns");
  EXPECT_EQ(nearest_path("lerner.gpu", keys), "learner.gpu");
  EXPECT_EQ(nearest_path("x", {}), "");
}

TEST(NearestNameTest, ComparesNoMoreThanItsBudget) {
  const std::string wanted(500, 'z');
  std::set<std::string> names{wanted};
  for (int i = 0; i < 1000; ++i) names.insert(std::string(496, 'a') + std::to_string(1000 + i));
  EXPECT_EQ(nearest_name(wanted, names).substr(0, 496), std::string(496, 'a'));
}

}  // namespace
}  // namespace warpsmith

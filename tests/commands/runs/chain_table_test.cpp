// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/chain_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

Outcome outcome(double reward, std::optional<double> speedup = {}) {
  Outcome o{.reward = reward};
  o.verdict = reward > 0 ? VerdictClass::passed : VerdictClass::wrong;
  o.speedup_eager = speedup;
  o.truncated = reward < 0;
  return o;
}

TEST(ChainTableTest, FiguresAreOfTheNewestOutcomes) {
  const auto figures = figures_of({outcome(-1), outcome(-1), outcome(1), outcome(2, 1.5)}, 2);
  EXPECT_EQ(figures.at("reward"), 1.5);
  EXPECT_EQ(figures.at("pass_rate"), 1);
  EXPECT_EQ(figures.at("faster_eager"), 0.5);
  EXPECT_EQ(figures.at("faster_compile"), 0);
  EXPECT_EQ(figures.at("truncated"), 0);
  EXPECT_EQ(figures_of({outcome(-1)}, 128).at("truncated"), 1);
  EXPECT_TRUE(figures_of({}, 128).empty());
}

TEST(ChainTableTest, MissingFiguresAreDashes) {
  const std::string table = table_text({{"sft", "sft", "/r", "/m", "", {{"steps", 40}}},
                                        {"agentic",
                                         "agentic",
                                         "/r",
                                         "/m",
                                         "",
                                         {{"trajectories", 64},
                                          {"steps", 2},
                                          {"reward", 1.25},
                                          {"pass_rate", 0.5},
                                          {"faster_eager", 0.25},
                                          {"faster_compile", 0},
                                          {"truncated", 0.1},
                                          {"explained_variance_first", 0.4},
                                          {"explained_variance", 0.55},
                                          {"entropy", 0.125}}}});
  EXPECT_EQ(table,
            "stage    trajectories  steps  reward  correct  >eager  >compile  expl. variance  "
            "entropy   cut\n"
            "sft                 -     40       -        -       -         -               -       "
            " -     -\n"
            "agentic            64      2    1.25     50 %    25 %       0 %     0.40 > 0.55    "
            "0.125  10 %\n");
}

TEST(ChainTableTest, AStageThatSolvedNextToNothingIsWarnedOf) {
  const auto ended = [](double correct) {
    return warning_of({"warmup", "warmup", "/r", "/m", "", {{"pass_rate", correct}}});
  };
  EXPECT_EQ(ended(0.02).substr(0, 36), "stage warmup ended with 2 % correct:");
  EXPECT_EQ(ended(0.05), "");
  EXPECT_EQ(warning_of({"sft", "sft", "/r", "/m", "", {{"steps", 4}}}), "");
}

TEST(ChainTableTest, ARecordReadsBackToItself) {
  const StageRecord record{"rft", "rft", "/run", "/model", "", {{"steps", 7}}};
  const auto again = stage_record_from_json(to_json(record));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(record));
  EXPECT_FALSE(stage_record_from_json("{}"));
}

}  // namespace
}  // namespace warpsmith::commands

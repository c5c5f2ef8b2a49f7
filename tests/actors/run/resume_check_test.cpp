// SPDX-License-Identifier: Apache-2.0
#include "actors/run/resume_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

const std::string remedy = "start anew";

RunConfig config_of(Stage stage) {
  RunConfig c;
  c.run.stage = stage;
  return c;
}

TEST(ResumeCheckTest, AChangedTemperatureNamesItsKeyBothValuesAndTheRemedy) {
  RunConfig now = config_of(Stage::agentic);
  now.generator.temperature = 0.7;
  const auto checked = check_resumable(config_of(Stage::agentic), now, "runs/a", remedy);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_config);
  for (const char* part : {"generator.temperature", "expected 1, by which runs/a", "got 0.7",
                           "resume without this change, or start anew"}) {
    EXPECT_THAT(checked.error().message, HasSubstr(part));
  }
}

TEST(ResumeCheckTest, WhatWasSampledFromAnotherDistributionDoesNotTrain) {
  RunConfig greedy = config_of(Stage::collect), top_k = greedy, top_p = greedy;
  greedy.collect.greedy = true;
  top_k.generator.top_k = 50;
  top_p.generator.top_p = 0.9;
  for (const RunConfig& before : {greedy, top_k, top_p}) {
    RunConfig agentic = before;
    agentic.run.stage = Stage::agentic;
    agentic.generator = {};
    EXPECT_FALSE(check_resumable(before, agentic, "runs/a", remedy));
    RunConfig collects = agentic;
    collects.run.stage = Stage::collect;
    collects.collect.greedy = false;
    EXPECT_FALSE(check_resumable(before, collects, "runs/a", remedy))
        << "it could then train by PPO";
  }
}

TEST(ResumeCheckTest, TheSameDistributionGoesOnInAnyStage) {
  RunConfig now = config_of(Stage::agentic);
  now.collect.greedy = true;  // without effect in this stage
  now.learner.max_lag = 3;
  EXPECT_TRUE(check_resumable(config_of(Stage::collect), now, "runs/a", remedy));
}

TEST(ResumeCheckTest, StagesThatDoNotSampleAreFree) {
  RunConfig now = config_of(Stage::sft);
  now.generator.temperature = 0.5;
  EXPECT_TRUE(check_resumable(config_of(Stage::sft), now, "runs/a", remedy));
}

}  // namespace
}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
#include "commands/train/resume_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& override, const std::vector<ResumedStage>& stages) {
  const auto checked = refuse_without_effect({override}, stages);
  return checked ? "" : checked.error().message;
}

TEST(ResumeKeysTest, KeysOfOtherStagesAreRefusedByName) {
  EXPECT_EQ(refusal("sft.epochs=3", {{.kind = Stage::agentic}}),
            "--set sft.epochs has no effect on this resume: stage agentic does not read it");
  EXPECT_EQ(refusal("rollout.count=3", {{.kind = Stage::value}}),
            "--set rollout.count has no effect on this resume: stage value does not read it");
  EXPECT_THAT(refusal("run.trajectories=9", {{.kind = Stage::collect}}),
              HasSubstr("collect.samples sets how many"));
  EXPECT_EQ(refusal("run.trajectories=9", {{.kind = Stage::agentic}}), "");
  EXPECT_EQ(refusal("sft.epochs=3", {{.kind = Stage::rft}}), "");
  EXPECT_EQ(refusal("generator.temperature=1", {{.kind = Stage::value}}), "");
  EXPECT_EQ(refusal("brain.max_requests=9", {{.kind = Stage::collect}}), "");
}

TEST(ResumeKeysTest, TheFolderOfARunStays) {
  for (const char* given : {"run.name=x", "run.folder=/tmp"}) {
    EXPECT_THAT(refusal(given, {{.kind = Stage::agentic}}), HasSubstr("stays in its folder"));
  }
  EXPECT_THAT(refusal("run.stages=[\"sft\"]", {{.kind = Stage::sft}}), HasSubstr("single stage"));
}

TEST(ResumeKeysTest, WhatACheckpointHoldsIsNotReadAgain) {
  const ResumedStage begun{.kind = Stage::rft, .has_checkpoint = true};
  EXPECT_THAT(refusal("rft.per_task=2", {begun}), HasSubstr("selected when it began"));
  EXPECT_EQ(refusal("rft.per_task=2", {{.kind = Stage::rft}}), "") << "it selects again";
  const ResumedStage online{.kind = Stage::agentic, .has_checkpoint = true};
  EXPECT_THAT(refusal("model.weights=random", {online}), HasSubstr("newest checkpoint"));
  EXPECT_THAT(refusal("learner.critic.folder=/c", {online}), HasSubstr("newest checkpoint"));
  const ResumedStage written{.kind = Stage::sft, .has_demonstrations = true};
  EXPECT_THAT(refusal("sft.arguments=[]", {written}), HasSubstr("were written when"));
}

TEST(ResumeKeysTest, AKeyOfAChainMustChangeAStageThatIsLeft) {
  const std::vector<ResumedStage> stages{{.name = "sft", .kind = Stage::sft, .finished = true},
                                         {.name = "more", .kind = Stage::agentic}};
  EXPECT_EQ(refusal("stage.sft.sft.epochs=2", stages),
            "--set stage.sft.sft.epochs has no effect on this resume: stage sft is finished");
  EXPECT_THAT(refusal("sft.epochs=2", stages), HasSubstr("stage agentic does not read it"));
  EXPECT_THAT(refusal("stage.more.sft.epochs=2", stages), HasSubstr("does not read it"));
  EXPECT_EQ(refusal("run.trajectories=2", stages), "");
  EXPECT_EQ(refusal("stage.more.run.trajectories=2", stages), "");
  EXPECT_EQ(refusal("run.stages=[\"sft\"]", stages), "");
  EXPECT_THAT(refusal("run.trajectories=2", {stages.front()}), HasSubstr("is finished"));
}

TEST(ResumeKeysTest, WhatAStageHasDoneIsReadFromItsFolder) {
  const test_support::TemporaryFolder root;
  const auto run = root.path() / "run";
  EXPECT_FALSE(resumed_stage(run, Stage::sft).has_checkpoint);
  std::filesystem::create_directories(run / "checkpoints");
  EXPECT_FALSE(resumed_stage(run, Stage::sft).has_checkpoint);
  std::filesystem::create_directories(run / "checkpoints" / "1");
  std::ofstream{run / "demonstrations.jsonl"} << "";
  const ResumedStage begun = resumed_stage(run, Stage::sft);
  EXPECT_TRUE(begun.has_checkpoint && begun.has_demonstrations);
}

}  // namespace
}  // namespace warpsmith::commands

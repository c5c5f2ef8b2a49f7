// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/chain_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using testing::HasSubstr;

class ChainConfigTest : public ::testing::Test {
 protected:
  Result<std::vector<ChainStage>> load(const std::string& stages, const std::string& more = "",
                                       const std::vector<std::string>& overrides = {}) const {
    std::ofstream{file()} << "[run]\nseed = 1\nstages = " << stages
                          << "\n[model]\nfolder = \"m\"\n[synthesis]\ntasks = [\"t\"]\n"
                             "[learner.step]\ntrajectories = 16\n"
                          << more;
    const auto base = load_run_config(file(), overrides);
    if (!base) return tl::unexpected(base.error());
    return load_chain(file(), overrides, base->run.stages);
  }
  std::string error(const std::string& stages, const std::string& more = "",
                    const std::vector<std::string>& overrides = {}) const {
    const auto chain = load(stages, more, overrides);
    return chain ? "" : chain.error().message;
  }
  std::string file() const { return (folder_.path() / "chain.toml").string(); }

  test_support::TemporaryFolder folder_;
};

TEST_F(ChainConfigTest, AStagesTableReplacesKeysForThatStageOnly) {
  const auto chain =
      load(R"(["collect", "agentic"])",
           "[stage.agentic]\nrun.trajectories = 64\nlearner.step.trajectories = 8\n");
  ASSERT_TRUE(chain) << chain.error().message;
  ASSERT_EQ(chain->size(), 2U);
  EXPECT_EQ((*chain)[0].config.run.stage, Stage::collect);
  EXPECT_EQ((*chain)[0].config.learner.step.trajectories, 16);
  EXPECT_EQ((*chain)[1].config.run.stage, Stage::agentic);
  EXPECT_EQ((*chain)[1].config.run.trajectories, 64);
  EXPECT_EQ((*chain)[1].config.learner.step.trajectories, 8);
  EXPECT_TRUE((*chain)[1].config.run.stages.empty()) << "a stage is a separate run";
}

/// With equal seeds, trajectory i would have the same task and draws in every stage.
TEST_F(ChainConfigTest, StagesThatSampleHaveSeparateSeeds) {
  const auto all = load(R"(["warmup", "collect", "rft", "agentic"])").value();
  const auto few = load(R"(["collect", "agentic"])").value();
  EXPECT_EQ(stage_seed(all[2]), 1) << "it samples nothing";
  const std::set<int64_t> seeds{stage_seed(all[0]), stage_seed(all[1]), stage_seed(all[3]), 1};
  EXPECT_EQ(seeds.size(), 4U);
  EXPECT_EQ(stage_seed(few[1]), stage_seed(all[3])) << "another stage is left out";
  const auto other = load(R"(["collect", "agentic"])", "", {"run.seed=2"}).value();
  EXPECT_NE(stage_seed(other[1]), stage_seed(all[3]));
}

TEST_F(ChainConfigTest, OptionsReachOneStageOrAll) {
  const auto chain = load(R"(["collect", "agentic"])", "[stage.agentic]\nrun.trajectories = 64\n",
                          {"stage.agentic.run.trajectories=99", "run.seed=5"});
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ((*chain)[1].config.run.trajectories, 99);
  EXPECT_EQ((*chain)[0].config.run.seed, 5);
  EXPECT_EQ((*chain)[1].config.run.seed, 5);
}

/// At a resume each stage is read from its own file, with the options for all of them.
TEST_F(ChainConfigTest, OptionsForOtherStagesDoNotChangeAStoredStage) {
  const auto chain = load(R"(["collect", "agentic"])").value();
  const auto again = parse_run_config("1-collect.toml", to_toml(chain[0].config),
                                      {"stage.again.run.seed=7"}, "collect");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->run.seed, 1);
}

TEST_F(ChainConfigTest, AStageKeepsTheKeysOfItsOwnTable) {
  const std::string more =
      "[stage.agentic]\nmodel.folder = \"m\"\nlearner.critic.folder = \"\"\n"
      "[stage.sft]\nsft.data = \"d\"\nmodel.weights = \"random\"\n";
  const auto chain = load(R"(["sft", "collect", "agentic"])", more);
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_TRUE((*chain)[0].own_policy) << "it draws its weights";
  EXPECT_FALSE((*chain)[0].own_critic);
  EXPECT_FALSE((*chain)[1].own_policy);
  EXPECT_TRUE((*chain)[2].own_policy) << "although it is the folder that the chain starts from";
  EXPECT_TRUE((*chain)[2].own_critic) << "it asks for a new one";
  const auto outranked = load(R"(["collect", "agentic"])", more, {"model.folder=other"});
  EXPECT_FALSE((*outranked)[1].own_policy);
  const auto by_option = load(R"(["collect", "agentic"])", "", {"stage.agentic.model.folder=x"});
  EXPECT_TRUE((*by_option)[1].own_policy);
}

TEST_F(ChainConfigTest, AStoredStageIsReadBackWithTheKeysOfItsOwnTable) {
  const auto chain = load(R"(["collect", "more.2"])",
                          "[stage.\"more.2\"]\nrun.stage = \"agentic\"\nmodel.folder = \"m\"\n");
  ASSERT_TRUE(chain) << chain.error().message;
  for (const ChainStage& stage : *chain) {
    const std::string stored = (folder_.path() / "stage.toml").string();
    std::ofstream{stored} << to_toml(stage);
    const auto again = load_stage(stored, {}, stage.name);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->own_policy, stage.own_policy);
    EXPECT_EQ(again->own_critic, stage.own_critic);
    EXPECT_EQ(to_toml(*again), to_toml(stage));
  }
}

TEST_F(ChainConfigTest, RemovingAStageFromTheListLeavesItOut) {
  const auto chain = load(R"(["collect", "rft", "agentic"])", "[stage.rft]\nrft.per_task = 3\n",
                          {R"(run.stages=["agentic"])"});
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(chain->size(), 1U);
}

TEST_F(ChainConfigTest, MistakesInAStagesTableAreReportedWithTheirLine) {
  EXPECT_THAT(error(R"(["agentic"])", "[stage.agentic]\nrun.trajectoires = 64\n"),
              HasSubstr("chain.toml:11: unknown key run.trajectoires"));
  EXPECT_THAT(error(R"(["agentic"])", "[stage.agentic]\nrun.trajectories = 4\n"),
              HasSubstr("learner.step.trajectories: expected at most run.trajectories (4)"));
  EXPECT_THAT(
      error(R"(["agentic"])", "[stage.agentik]\nrun.seed = 4\n"),
      HasSubstr("chain.toml:10: stage.agentik: expected the name of a stage in run.stages"));
  EXPECT_THAT(error(R"(["agentic"])", "[stage]\nagentic = 4\n"),
              HasSubstr("stage.agentic: expected a table, got 4"));
}

TEST_F(ChainConfigTest, AMisspeltStageIsRefused) {
  const auto stages = load_chain("configs/paper-stages.toml", {}, {"sft", "warnup"});
  ASSERT_FALSE(stages);
  EXPECT_THAT(stages.error().message, HasSubstr("\"warnup\" is not a kind of stage"));
  EXPECT_TRUE(
      load_chain("configs/paper-stages.toml", {"stage.more.run.stage=\"collect\""}, {"more"}));
}

TEST_F(ChainConfigTest, AStageNamedTwiceIsRefused) {
  EXPECT_THAT(
      error(R"(["collect", "collect"])"),
      HasSubstr(
          "chain.toml: run.stages: \"collect\" is listed twice; give the second another name"));
  EXPECT_EQ(error(R"(["collect", "again"])", "[stage.again]\nrun.stage = \"collect\"\n"), "");
}

TEST_F(ChainConfigTest, AStageWithoutARequiredEarlierStageIsRefused) {
  EXPECT_THAT(
      error(R"(["rft", "agentic"])"),
      HasSubstr("stage \"rft\" has no trajectories: put a stage \"collect\" before it, or set "
                "rft.runs"));
  EXPECT_THAT(error(R"(["value", "collect"])"), HasSubstr("set value.runs"));
  EXPECT_EQ(error(R"(["rft"])", "[stage.rft]\nrft.runs = [\"runs/a\"]\n"), "");
}

TEST_F(ChainConfigTest, WarmupHasOneTurnWithFiles) {
  const auto chain = load(R"(["warmup", "agentic"])");
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ((*chain)[0].config.agent.answer, AnswerForm::files);
  EXPECT_EQ((*chain)[1].config.agent.answer, AnswerForm::calls);
  EXPECT_THAT(error(R"(["warmup"])", "[agent]\nanswer = \"calls\"\n"),
              HasSubstr("run.stage = \"warmup\" has one turn: expected \"files\""));
}

TEST_F(ChainConfigTest, AStagesEffectiveConfigurationReadsBackUnchanged) {
  const auto chain = load(R"(["value", "agentic"])", "[stage.value]\nvalue.runs = [\"/runs/a\"]\n");
  ASSERT_TRUE(chain) << chain.error().message;
  for (const ChainStage& stage : *chain) {
    const std::string text = to_toml(stage.config);
    const auto again = parse_run_config("again.toml", text, {});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_toml(*again), text);
  }
}

}  // namespace
}  // namespace warpsmith

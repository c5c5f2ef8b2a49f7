// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/stage_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// The files of a chain that was killed in its second stage of three.
class StageReportTest : public ::testing::Test {
 protected:
  StageReportTest() {
    const auto config = load_run_config("configs/quickstart.toml", {});
    if (!config) throw std::runtime_error(config.error().message);
    RunConfig chain = *config;
    chain.run.stages = {"sft", "value", "agentic"};
    file("config.toml", to_toml(chain));
    file("lock", "1\n2026-01-31T12:34:56.789Z\nrunning\n");
    const std::vector<Stage> kinds{Stage::sft, Stage::value, Stage::agentic};
    for (size_t i = 0; i < kinds.size(); ++i) {
      RunConfig stage = *config;
      stage.run.stage = kinds[i];
      stage.sft.data = "/data.jsonl";
      file("stages/" + std::to_string(i + 1) + "-" + chain.run.stages[i] + ".toml", to_toml(stage));
      if (i < 2) file(run(i) + "/config.toml", to_toml(stage));
      if (i < 2) file(run(i) + "/lock", "1\n2026-01-31T13:00:00.000Z\nrunning\n");
    }
    file("stages/1-sft.json",
         to_json({"sft", "sft", "/r", "/m", "", {{"steps", 2}, {"held_out_loss", 1.25}}}));
    file(run(0) + "/steps.jsonl", "{\"step\":1,\"loss\":4.5}\n{\"step\":2,\"loss\":2}\n");
    file(run(1) + "/steps.jsonl",
         "{\"step\":1,\"loss\":0.9,\"explained_variance\":-0.25}\n"
         "{\"step\":2,\"loss\":0.5,\"explained_variance\":0.75}\n{\"step\":3,\"lo");
    file(run(1) + "/progress.json", "{\"steps\":12,\"seconds_per_step\":2.0}\n");
  }

  static std::string run(size_t index) { return index == 0 ? "stages/1-sft" : "stages/2-value"; }
  void file(const std::string& name, const std::string& text) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }
  ChainView chain() const { return read_chain({folder_.path()}).value(); }

  test_support::TemporaryFolder folder_;
};

TEST_F(StageReportTest, AChainShowsItsStateStagesAndTable) {
  const std::string text = page_text(chain());
  EXPECT_THAT(text, HasSubstr(", killed\n"));
  EXPECT_THAT(text, HasSubstr("stages        1 of 3 stages finished; in value\n"));
  EXPECT_THAT(text, HasSubstr("  sft      finished   step 2, loss 4.50 > 2.00, held-out loss "
                              "1.25\n"));
  EXPECT_THAT(text, HasSubstr("  value    killed     step 2 of 12, loss 0.90 > 0.50, explained "
                              "variance -0.25 > 0.75\n"));
  EXPECT_THAT(text, HasSubstr("  agentic  not begun\n"));
  EXPECT_THAT(text, HasSubstr("\nstage  trajectories  steps"));
  EXPECT_THAT(text,
              HasSubstr("resume with: ./warpsmith train --resume " + folder_.path().string()));
}

TEST_F(StageReportTest, ARunningStageShowsTheTimeLeft) {
  StageView stage = chain().stages[1];
  EXPECT_THAT(progress_text(stage), Not(HasSubstr("left")));
  stage.status.state = RunState::running;
  EXPECT_THAT(progress_text(stage), HasSubstr("0.75, about 20 s left"));
}

TEST_F(StageReportTest, AStageThatLearnsFromDataIsShownByItself) {
  file(run(1) + "/selection.json",
       R"([{"run": "/c", "kept": [1], "rejected": {"unreadable": [2]}, "silenced": 0}])");
  const auto stage = read_stage({folder_.path() / run(1)});
  ASSERT_TRUE(stage) << stage.error().message;
  const std::string text = page_text(*stage);
  EXPECT_THAT(text, HasSubstr("stage         value\n"));
  EXPECT_THAT(text, HasSubstr("loss          █▁  0.50 to 0.90\n"));
  EXPECT_THAT(text, HasSubstr("trajectories  1 kept; rejected: unreadable 1\n"));
  const auto json = nlohmann::json::parse(view_json(*stage));
  EXPECT_EQ(json["state"], "killed");
  EXPECT_EQ(json["step"], 2);
  EXPECT_EQ(json["last"]["explained_variance"], 0.75);
}

TEST_F(StageReportTest, JsonOfAChainHasItsStages) {
  const auto json = nlohmann::json::parse(view_json(chain()));
  EXPECT_EQ(json["state"], "killed");
  EXPECT_EQ(json["running"], false);
  ASSERT_EQ(json["stages"].size(), 3U);
  EXPECT_EQ(json["stages"][0]["figures"]["held_out_loss"], 1.25);
  EXPECT_EQ(json["stages"][2]["state"], "not begun");
}

}  // namespace
}  // namespace warpsmith::commands

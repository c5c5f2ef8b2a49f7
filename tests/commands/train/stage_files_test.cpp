// SPDX-License-Identifier: Apache-2.0
// What a finished stage leaves after its run was resumed separately.
#include "commands/train/stage_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_folder.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A finished warmup whose record names the checkpoint of step 4.
class StageFilesTest : public ::testing::Test {
 protected:
  StageFilesTest() {
    stage_.config = load_run_config("configs/quickstart.toml", {}).value();
    stage_.config.run.stage = Stage::warmup;
    run_.emplace(RunPaths{place().run()}, stage_.config);
    write_checkpoint(4);
    const StageRecord record{"warmup", "warmup", place().run().string(), step(4).string(), "", {}};
    std::ofstream{place().record()} << to_json(record);
  }

  StagePaths place() const { return stage_paths(root_.path(), 0, "warmup"); }
  RunPaths paths() const { return {place().run()}; }
  fs::path step(uint32_t number) const {
    return paths().checkpoints() / ("step-" + std::to_string(number));
  }
  void write_checkpoint(uint32_t number) const {
    const auto store = CheckpointStore::open(paths().checkpoints());
    ASSERT_TRUE(store->write({1, number}, [](const fs::path& to) {
      std::ofstream{to / "weights"} << "w";
      return Result<void>{};
    }));
  }

  test_support::TemporaryFolder root_;
  ChainStage stage_{"warmup", {}};
  std::optional<RecordedRun> run_;
};

TEST_F(StageFilesTest, LaterStagesGetTheNewestPolicyOfAFinishedStage) {
  EXPECT_EQ(finished_record(stage_, place())->value().model, step(4).string());
  write_checkpoint(6);
  fs::remove_all(step(4));  // pruned
  run_->record({written, submitted}, 1);
  const auto record = finished_record(stage_, place());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ((*record)->model, step(6).string());
  EXPECT_EQ((*record)->figures.at("trajectories"), 1);
}

TEST_F(StageFilesTest, LostPoliciesAreNotReplacedByOlderOnes) {
  fs::remove_all(step(4));
  const auto lost = finished_record(stage_, place());
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("step-4, which the stage made, is missing"));
  EXPECT_THAT(lost.error().message, HasSubstr("remove this file to run the stage again"));
}

TEST_F(StageFilesTest, ARunThatTrainsAgainIsWaitedFor) {
  const auto held = RunFolder::open(place().run());
  ASSERT_TRUE(held) << held.error().message;
  const auto record = finished_record(stage_, place());
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, ErrorCode::locked);
}

TEST_F(StageFilesTest, AStageThatIsNotFinishedHasNoRecord) {
  fs::remove(place().record());
  const auto record = finished_record(stage_, place());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_FALSE(*record);
}

}  // namespace
}  // namespace warpsmith::commands

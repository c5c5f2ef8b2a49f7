// SPDX-License-Identifier: Apache-2.0
// Runs on disk: the requirements and effects of a resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>

#include "actors/run/run_session.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

class RunSessionTest : public ::testing::Test {
 protected:
  RunConfig config() const {
    auto loaded = load_run_config("configs/quickstart.toml", {"run.trajectories=64"});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.folder = root_.path();
    loaded->run.name = "run";
    return *loaded;
  }
  fs::path run() const { return root_.path() / "run"; }
  fs::path checkpoints() const { return RunPaths{run()}.checkpoints(); }

  /// Makes a run of `steps` optimiser steps, the last one with a checkpoint if wanted.
  void make_run(uint32_t steps, bool with_checkpoint) const {
    auto session = begin_run(config(), "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    LedgerStore& ledger = session->ledger->store;
    for (uint32_t step = 1; step <= steps; ++step) {
      ASSERT_TRUE(ledger.mark_trained(StepRow{.version = {1, step}}).has_value());
    }
    if (with_checkpoint) {
      const auto written = session->checkpoints->write({1, steps}, [](const fs::path& folder) {
        std::ofstream{folder / "weights"} << "w";
        return Result<void>{};
      });
      ASSERT_TRUE(written.has_value()) << written.error().message;
      ASSERT_TRUE(ledger.checkpointed(steps).has_value());
    }
    ASSERT_TRUE(ledger.flush().has_value());
  }

  TemporaryFolder root_;
};

TEST_F(RunSessionTest, ResumesFromItsCheckpoint) {
  make_run(3, true);
  const auto session = resume_run(config(), run(), "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version, (PolicyVersion{2, 3}));
  EXPECT_EQ(session->origin.checkpoint, checkpoints() / "step-3");
}

TEST_F(RunSessionTest, StartsOverWhenNoCheckpointWasEverWritten) {
  make_run(3, false);
  const auto session = resume_run(config(), run(), "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version, (PolicyVersion{2, 0}));
}

TEST_F(RunSessionTest, LostCheckpointsStopTheResumeAndChangeNothing) {
  make_run(3, true);
  fs::rename(checkpoints(), run() / "elsewhere");
  const auto session = resume_run(config(), run(), "{}");
  ASSERT_FALSE(session.has_value());
  EXPECT_NE(session.error().message.find(checkpoints().string()), std::string::npos);
  EXPECT_NE(session.error().message.find("step 3"), std::string::npos) << session.error().message;
  fs::remove(checkpoints());
  fs::rename(run() / "elsewhere", checkpoints());
  EXPECT_TRUE(resume_run(config(), run(), "{}").has_value()) << "the checkpoints are back";
}

TEST_F(RunSessionTest, AFolderIsNotARunBeforeAllItsFilesExist) {
  EXPECT_FALSE(begin_run(config(), "test", "{}", {{"no-folder/plan.json", "{}"}}).has_value());
  EXPECT_TRUE(fs::exists(run()));
  EXPECT_FALSE(holds_run({run()}));
}

TEST_F(RunSessionTest, RunThatWasKilledBeforeItsDatabaseWasMadeBeginsWithAResume) {
  ASSERT_TRUE(begin_run(config(), "test", "{}", {{"plan.json", "{}"}}).has_value());
  for (const char* later : {"run.db", "run.db-wal", "run.db-shm"}) fs::remove(run() / later);
  fs::remove_all(RunPaths{run()}.segments());
  fs::create_directory(RunPaths{run()}.segments());
  const auto session = resume_run(config(), run(), "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version, (PolicyVersion{1, 0}));
  EXPECT_TRUE(fs::exists(run() / "plan.json"));
}

TEST_F(RunSessionTest, RunThatLostItsDatabaseDoesNotStartOver) {
  make_run(1, false);
  std::ofstream{RunPaths{run()}.segments() / "0.seg"} << "recorded";
  fs::remove(RunPaths{run()}.database());
  const auto session = resume_run(config(), run(), "{}");
  ASSERT_FALSE(session.has_value());
  EXPECT_NE(session.error().message.find("run.db is missing"), std::string::npos);
}

TEST_F(RunSessionTest, KeepsTheOptionsOfAResume) {
  make_run(1, true);
  const auto before = config_of_run(run(), {"learner.max_lag=3"});
  ASSERT_TRUE(before.has_value()) << before.error().message;
  const auto session = resume_run(*before, run(), "{}");
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(config_of_run(run(), {})->learner.max_lag, 2) << "not before keep_config";
  ASSERT_TRUE(keep_config(*session, *before).has_value());
  const auto after = config_of_run(run(), {});
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->learner.max_lag, 3);
  EXPECT_TRUE(fs::exists(run() / "config.1.toml"));
}

using testing::HasSubstr;

const std::string remedy = "start again";

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
                           "resume without this change, or start again"}) {
    EXPECT_THAT(checked.error().message, HasSubstr(part));
  }
}

TEST(ResumeCheckTest, SamplesFromAnotherDistributionAreNotTrained) {
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

TEST(ResumeCheckTest, TheSameDistributionContinuesInAnyStage) {
  RunConfig now = config_of(Stage::agentic);
  now.collect.greedy = true;  // without effect in this stage
  now.learner.max_lag = 3;
  EXPECT_TRUE(check_resumable(config_of(Stage::collect), now, "runs/a", remedy));
}

TEST(ResumeCheckTest, StagesThatDoNotSampleAreNotRestricted) {
  RunConfig now = config_of(Stage::sft);
  now.generator.temperature = 0.5;
  EXPECT_TRUE(check_resumable(config_of(Stage::sft), now, "runs/a", remedy));
}

}  // namespace

}  // namespace warpsmith::actors

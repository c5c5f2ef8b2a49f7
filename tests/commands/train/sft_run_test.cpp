// SPDX-License-Identifier: Apache-2.0
// The supervised stage as a run: stopped and resumed, it ends as if it had not stopped.
#include "commands/train/stage_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/environment.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class SftRunTest : public ::testing::Test {
 protected:
  SftRunTest() {
    std::ofstream out{root_.path() / "data.jsonl"};
    for (int i = 0; i < 40; ++i) {
      out << R"({"task_id": "t", "messages": [{"role": "user", "content": "say )" << i
          << R"("}, {"role": "assistant", "content": "it is )" << i * i << R"(", "train": true}]})"
          << '\n';
    }
  }

  RunConfig config(const std::string& name) const {
    auto loaded =
        load_run_config("configs/quickstart-sft.toml",
                        {"sft.script=\"\"", "sft.data=" + (root_.path() / "data.jsonl").string(),
                         "sft.epochs=2", "sft.batch_tokens=128", "sft.context=128",
                         "learner.threads=1", "ledger.checkpoint_steps=3"});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.folder = root_.path();
    loaded->run.name = name;
    loaded->sft.export_to = root_.path() / (name + "-model");
    return *loaded;
  }
  static std::string hash(const fs::path& folder) {
    return hash_of_file(folder / "model.safetensors").value_or("none in " + folder.string());
  }

  test_support::TemporaryFolder root_;
  Output quiet_{.quiet = true};
};

TEST_F(SftRunTest, StoppedAndResumedEndsWithTheSameWeights) {
  const RunConfig whole = config("whole");
  ASSERT_EQ(run_sft(whole, {"c.toml", ""}, quiet_).code, ExitCode::success);
  RunConfig parts = config("parts");
  parts.run.time_limit = milliseconds{0};  // a step per start
  ASSERT_EQ(run_sft(parts, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const RunPaths paths{root_.path() / "parts"};
  EXPECT_FALSE(fs::exists(parts.sft.export_to)) << "only a finished model is exported";
  EXPECT_EQ(CheckpointStore::open(paths.checkpoints())->steps().value(),
            (std::vector<uint32_t>{1}));
  EXPECT_TRUE(fs::exists(paths.checkpoints() / "step-1" / "tokenizer.json")) << "a whole model";
  ASSERT_EQ(run_sft(parts, {"", paths.folder.string()}, quiet_).code, ExitCode::success);
  EXPECT_EQ(CheckpointStore::open(paths.checkpoints())->steps().value(),
            (std::vector<uint32_t>{1, 2}));
  parts.run.time_limit = whole.run.time_limit;
  ASSERT_EQ(run_sft(parts, {"", paths.folder.string()}, quiet_).code, ExitCode::success);
  EXPECT_EQ(hash(parts.sft.export_to), hash(whole.sft.export_to));
  EXPECT_TRUE(fs::exists(parts.sft.export_to / "tokenizer.json"));
}

TEST_F(SftRunTest, AResumeWithOtherConversationsOrAnotherSeedIsRefused) {
  RunConfig c = config("same");
  c.run.time_limit = milliseconds{0};  // a step per start
  ASSERT_EQ(run_stage(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const std::string run = (root_.path() / "same").string();
  c.run.time_limit = std::chrono::hours{1};
  std::ofstream{run + "/config.toml"} << to_toml(c);  // no configuration file allows a limit of 0
  const fs::path first = c.sft.data, moved = root_.path() / "moved.jsonl";
  const fs::path other = root_.path() / "other.jsonl";
  const auto refusal = [&] {
    const auto planned = check_stage(c, {.resumed_run = run});
    EXPECT_FALSE(planned);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_stage(c, {"", run}, quiet_).code, ExitCode::bad_input);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr(planned.error().message)) << "--dry-run says the same";
    return text;
  };
  std::ofstream{other} << R"({"prompt": "a", "completion": "b"})" << '\n';
  c.sft.data = other;
  EXPECT_THAT(refusal(), HasSubstr("sft.data: " + run +
                                   " has learned from what it began with: "
                                   "expected " +
                                   first.string() + ", got " + other.string() + ";"));
  c.sft.data = first;
  ++c.run.seed;
  EXPECT_THAT(refusal(), HasSubstr("run.seed: "));
  --c.run.seed;
  fs::copy_file(first, moved);
  std::ofstream{first, std::ios::app} << R"({"prompt": "a", "completion": "b"})" << '\n';
  EXPECT_THAT(refusal(), HasSubstr("which has changed"));
  c.sft.data = moved;
  EXPECT_TRUE(check_stage(c, {.resumed_run = run})) << "a file that moved is the same data";
}

TEST_F(SftRunTest, AFinishedRunSaysWhichKeyGivesItMoreToDo) {
  RunConfig c = config("done");
  ASSERT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const std::string run = (root_.path() / "done").string();
  const auto resumed = [&] {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_sft(c, {"", run}, quiet_).code, ExitCode::success);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(resumed(), HasSubstr("nothing is left to do: the run is finished; to go on, raise "
                                   "sft.epochs: ./warpsmith train --resume " +
                                   run));
  c.sft.epochs = 3;
  EXPECT_THAT(resumed(), Not(HasSubstr("nothing is left to do")));
}

TEST_F(SftRunTest, AModelThatTheRunReplacesIsNamedWhenItStarts) {
  RunConfig c = config("over");
  EXPECT_EQ(export_note(c.sft), "");
  fs::create_directories(c.sft.export_to);
  std::ofstream{c.sft.export_to / "config.json"} << "{}";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("its model replaces the one in " + c.sft.export_to.string()));
}

TEST_F(SftRunTest, EachStepLeavesOneLineAlsoAfterAResume) {
  RunConfig c = config("lines");
  c.run.time_limit = milliseconds{0};
  ASSERT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const fs::path lines = root_.path() / "lines" / "steps.jsonl";
  std::ofstream{lines, std::ios::app} << "{\"step\": 2}\n";  // of a step after the checkpoint
  ASSERT_EQ(run_sft(c, {"", (root_.path() / "lines").string()}, quiet_).code, ExitCode::success);
  std::ifstream file{lines};
  std::string line;
  for (int step = 1; step <= 2; ++step) {
    ASSERT_TRUE(std::getline(file, line));
    const auto read = nlohmann::json::parse(line);
    EXPECT_EQ(read.at("step"), step);
    EXPECT_GT(read.at("loss"), 0);
  }
  EXPECT_FALSE(std::getline(file, line));
}

TEST_F(SftRunTest, GradientsThatStayInfiniteEndTheRun) {
  RunConfig c = config("diverged");
  c.sft.learning_rate = 1e30;
  c.sft.warmup = 0;
  EXPECT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::infrastructure);
}

TEST_F(SftRunTest, DamagedCheckpointsDoNotRestartTheRun) {
  RunConfig c = config("damaged");
  c.run.time_limit = milliseconds{0};
  ASSERT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const RunPaths paths{root_.path() / "damaged"};
  fs::resize_file(paths.checkpoints() / "step-1" / "model.safetensors", 100);
  EXPECT_NE(run_sft(c, {"", paths.folder.string()}, quiet_).code, ExitCode::success);
}

TEST_F(SftRunTest, AStopWhileTheScriptRunsSucceeds) {
  const std::string before = python_interpreter().string();
  ::setenv("WARPSMITH_PYTHON", "/bin/sh", 1);
  RunConfig c = config("early");
  c.sft.data.clear();
  c.sft.script = root_.path() / "script";
  std::ofstream{c.sft.script} << "kill -INT $PPID; kill -INT $$";  // as a terminal does
  EXPECT_EQ(run_sft(c, {"c.toml", ""}, quiet_).code, ExitCode::success);
  const fs::path early = root_.path() / "early";
  c.sft.epochs = 7;
  EXPECT_EQ(run_sft(c, {"", early.string()}, quiet_).code, ExitCode::success);
  EXPECT_EQ(load_run_config(early / "config.toml", {}).value().sft.epochs, 7) << "lost by the stop";
  std::ofstream{c.sft.script} << "kill -INT $$";
  EXPECT_EQ(run_sft(c, {"", (root_.path() / "early").string()}, quiet_).code,
            ExitCode::infrastructure);
  ::setenv("WARPSMITH_PYTHON", before.c_str(), 1);
}

TEST_F(SftRunTest, AFolderWithoutARunIsNotResumed) {
  EXPECT_NE(run_sft(config("none"), {"", (root_.path() / "none").string()}, quiet_).code,
            ExitCode::success);
  EXPECT_FALSE(fs::exists(root_.path() / "none"));
}

}  // namespace
}  // namespace warpsmith::commands

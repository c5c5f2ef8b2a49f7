// SPDX-License-Identifier: Apache-2.0
// A chain that is stopped during the last step of a stage, and what a resume reads and accepts.
#include "commands/train/chain_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "commands/runs/chain_table.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/environment.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

class ChainRunTest : public ::testing::Test {
 protected:
  ChainRunTest() {
    ::setenv("WARPSMITH_PYTHON", "/bin/sh", 1);
    std::ofstream{root_.path() / "data.jsonl"}
        << R"({"task_id": "t", "messages": [{"role": "user", "content": "say"}, )"
        << R"({"role": "assistant", "content": "it is", "train": true}]})" << '\n';
    std::ofstream{root_.path() / "script"} << "cp " << (root_.path() / "data.jsonl").string()
                                           << " \"$4\"; kill -INT $PPID";
    std::ofstream{file()}
        << "[run]\nseed = 1\nstages = [\"sft\", \"more\"]\nname = \"chain\"\nfolder = '"
        << root_.path().string() << "'\n[model]\nfolder = '"
        << fs::absolute("configs/policy/tiny").string()
        << "'\nweights = \"random\"\n[synthesis]\ntasks = ['"
        << fs::absolute("configs/tasks/cpu/train").string()
        << "']\n[agent]\nchat_template = \"chatml\"\nsyntax = \"xml\"\n"
           "[sft]\nbatch_tokens = 1024\ncontext = 512\n"
           "[stage.sft]\nsft.script = \"script\"\n"
           "[stage.more]\nrun.stage = \"sft\"\nsft.data = \"data.jsonl\"\n";
  }
  ~ChainRunTest() override { ::setenv("WARPSMITH_PYTHON", python_.c_str(), 1); }

  fs::path file() const { return root_.path() / "chain.toml"; }
  fs::path stages() const { return root_.path() / "chain" / "stages"; }
  ExitCode run(const std::string& resume = "") const {
    const auto config = load_run_config(file(), {});
    if (!config) throw std::runtime_error(config.error().message);
    return run_chain(*config, {resume.empty() ? file().string() : "", resume}, {.quiet = true}, {});
  }

  /// Ends the process: 0 if the chain stops after its first stage, needs its model, and resumes.
  [[noreturn]] void stop_and_resume() const {
    bool good = run() == ExitCode::success && fs::exists(stages() / "1-sft.json") &&
                !fs::exists(stages() / "2-more");
    const fs::path model = stages() / "1-sft" / "model";
    const std::string chain = (root_.path() / "chain").string();
    fs::rename(model, root_.path() / "model");
    good = good && run(chain) != ExitCode::success;
    fs::rename(root_.path() / "model", model);
    good = good && run(chain) == ExitCode::success && fs::exists(stages() / "2-more.json") &&
           fs::exists(root_.path() / "chain" / "table.txt");
    fs::remove_all(root_.path());
    std::_Exit(good ? 0 : 1);
  }

  std::string python_ = python_interpreter().string();
  test_support::TemporaryFolder root_;
};

/// The interrupted stage has trajectories; the one before it is done, the one after it has none.
TEST_F(ChainRunTest, AnInterruptedStageKeepsItsSampling) {
  RunConfig chain = load_run_config("configs/quickstart.toml", {}).value();
  chain.run.stages = {"first", "agentic", "last"};
  fs::create_directories(stages());
  for (const char* name : {"1-first", "2-agentic", "3-last"}) {
    std::ofstream{stages() / (std::string{name} + ".toml")} << to_toml(chain);
    RecordedRun run{{stages() / name}, chain};
    if (std::string{name} != "3-last") run.record({written, submitted}, 1);
  }
  std::ofstream{stages() / "1-first.json"} << "{}";
  const auto resumed = [&](const std::string& change) {
    return stages_of(chain, {"", (root_.path() / "chain").string()}, {change});
  };
  for (const char* change :
       {"stage.first.generator.temperature=0.5", "stage.last.generator.temperature=0.5",
        "stage.last.generator.top_k=50", "run.trajectories=640"}) {
    const auto goes_on = resumed(change);
    EXPECT_TRUE(goes_on) << goes_on.error().message;
  }
  const auto refused = resumed("generator.temperature=0.5");
  ASSERT_FALSE(refused);
  for (const char* part : {"2-agentic has sampled its trajectories, got 0.5",
                           "or set it for the other stages by stage.NAME.KEY"}) {
    EXPECT_THAT(refused.error().message, testing::HasSubstr(part));
  }
}

/// As `train --resume CHAIN/stages/1-collect --set collect.samples=N` leaves it.
TEST_F(ChainRunTest, TheTableCountsWhatAFinishedStageHasCollectedSince) {
  RunConfig chain = load_run_config("configs/quickstart.toml", {}).value();
  chain.run.stages = {"collect"};
  chain.run.stage = Stage::collect;
  const RunPaths collect{stages() / "1-collect"};
  RecordedRun run{collect, chain};
  for (int i = 0; i < 12; ++i) run.record({written, submitted}, 1);
  for (const fs::path& file : {stages() / "1-collect.toml", root_.path() / "chain/config.toml"}) {
    std::ofstream{file} << to_toml(chain);
  }
  const StageRecord before{"collect", "collect", collect.folder.string(),
                           "",        "",        {{"trajectories", 3}}};
  std::ofstream{stages() / "1-collect.json"} << to_json(before);
  const std::string folder = (root_.path() / "chain").string();
  ASSERT_EQ(run_chain(chain, {"", folder}, {.quiet = true}, {}), ExitCode::success);
  const std::string table = read_text_file(root_.path() / "chain/table.txt", 4096).value_or("");
  EXPECT_THAT(table, testing::ContainsRegex("collect +12 "));
}

/// In a separate process: the signal would end a process whose threads do not block it.
TEST_F(ChainRunTest, AStopInTheLastStepOfAStageStartsNoOtherStage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(stop_and_resume(), testing::ExitedWithCode(0), "stopped after stage sft");
}

}  // namespace
}  // namespace warpsmith::commands

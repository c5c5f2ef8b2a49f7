// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/train/data_run.hpp"
#include "commands/train/stage_run.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

/// Three steps, each of which looks whether a kernel could be timed now.
class WatchingStage final : public DataStage {
 public:
  explicit WatchingStage(std::string leases) : leases_(std::move(leases)) {}
  bool done() const override { return step_ == steps(); }
  int64_t step_number() const override { return step_; }
  int64_t steps() const override { return 3; }
  DataStep step() override {
    ++step_;
    measured_within_ += can_measure() ? 1 : 0;
    return {};
  }
  Result<void> save(const std::filesystem::path& folder) const override {
    measured_between_ += can_measure() ? 1 : 0;
    return write_file_durably(folder / "state", "any");
  }
  Result<void> restore(const std::filesystem::path& /*folder*/) override { return {}; }

  bool can_measure() const {
    const Deadline soon = Deadline::after(std::chrono::milliseconds{50});
    return DeviceLease::acquire(leases_, "gpu", soon).has_value();
  }
  int measured_within() const { return measured_within_; }
  int measured_between() const { return measured_between_; }

 private:
  std::string leases_;
  int64_t step_ = 0;
  int measured_within_ = 0;
  mutable int measured_between_ = 0;
};

TEST(DataRunTest, KernelsAreTimedBetweenTwoSteps) {
  const test_support::TemporaryFolder root;
  auto config = load_run_config("configs/quickstart-sft.toml", {"ledger.checkpoint_steps=1"});
  ASSERT_TRUE(config) << config.error().message;
  config->run.folder = root.path();
  config->run.name = "run";
  const RunPlace place{"c.toml", ""};
  const Output quiet{.quiet = true};
  const SignalWait signals;
  const std::string leases = (root.path() / "leases").string();
  const DataRun run{*config, place, quiet, signals, {.device = "gpu", .folder = leases}};
  const auto folder = open_data_folder(*config, place, "sft");
  ASSERT_TRUE(folder) << folder.error().message;
  WatchingStage stage{leases};
  ASSERT_TRUE(stage.can_measure());
  const auto ran = run_data_stage(stage, run, *folder);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(stage.measured_within(), 0);
  EXPECT_EQ(stage.measured_between(), 3);
}

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A stage whose selection was too small: the remedy that its message names is enough.
class SelectedRunTest : public ::testing::Test {
 protected:
  SelectedRunTest() : source_({folder_.path() / "collect"}, config(Stage::collect, "")) {}

  RunConfig config(Stage stage, const std::string& name,
                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> settings{"sft.batch_tokens=1024",   "sft.context=1024",
                                      "value.batch_tokens=1024", "value.held_out_share=0.2",
                                      "value.epochs=1",          "learner.threads=1"};
    settings.insert(settings.end(), more.begin(), more.end());
    auto loaded = load_run_config("configs/quickstart.toml", settings);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.stage = stage;
    loaded->run.folder = folder_.path();
    loaded->run.name = name;
    loaded->rft.runs = loaded->value.runs = {folder_.path() / "collect"};
    return *loaded;
  }
  void record(size_t count, double reward) {
    for (size_t i = 0; i < count; ++i) source_.record({written, verified, submitted}, reward);
  }
  std::string text_of(const fs::path& file) const {
    return read_text_file(folder_.path() / file, 1U << 20U).value_or("");
  }

  using Start = StageEnd (*)(const RunConfig&, const RunPlace&, const Output&);
  std::string refused(Start run, const RunConfig& config, const std::string& resume = "") const {
    testing::internal::CaptureStderr();
    const StageEnd end = run(config, place(resume), {.quiet = true});
    EXPECT_EQ(end.code, ExitCode::bad_input);
    return testing::internal::GetCapturedStderr();
  }
  RunPlace place(const std::string& resume) const {
    return {"c.toml", resume.empty() ? "" : (folder_.path() / resume).string()};
  }

  test_support::TemporaryFolder folder_;
  RecordedRun source_;
};

TEST_F(SelectedRunTest, TooFewTrajectoriesLeaveNoRun) {
  record(3, 1);
  const RunConfig value = config(Stage::value, "value");
  EXPECT_THAT(refused(run_value, value), HasSubstr("raise value.held_out_share, or collect more"));
  EXPECT_FALSE(fs::exists(folder_.path() / "value"));
  const RunConfig rft = config(Stage::rft, "rft", {"sft.context=16"});
  EXPECT_THAT(refused(run_rft, rft), HasSubstr("0 kept; rejected: too_long 3"));
  EXPECT_FALSE(fs::exists(folder_.path() / "rft"));
  record(9, -1);
  EXPECT_TRUE(run_value(value, place(""), {.quiet = true}).complete);
}

/// As a start leaves it that was killed before its first checkpoint, or that an earlier version
/// refused.
TEST_F(SelectedRunTest, ARunWithoutACheckpointSelectsAgain) {
  record(3, 1);
  const RunConfig value = config(Stage::value, "value");
  {
    const SignalWait signals;
    const Output quiet{.quiet = true};
    const RunPlace start = place("");
    const DataRun run{value, start, quiet, signals};
    auto selected = select_trajectories(run, select_for_value);
    ASSERT_TRUE(selected) << selected.error().message;
    ASSERT_TRUE(open_selected(std::move(*selected), run, "value"));
  }
  EXPECT_THAT(refused(run_value, value, "value"), HasSubstr("collect more"));
  record(9, -1);
  const StageEnd end = run_value(value, place("value"), {.quiet = true});
  EXPECT_TRUE(end.complete);
  EXPECT_THAT(text_of("value/selection.json"), HasSubstr("12"));
}

TEST_F(SelectedRunTest, ARunWithACheckpointKeepsItsSelection) {
  record(12, 1);
  RunConfig rft = config(Stage::rft, "rft", {"sft.epochs=3"});
  rft.run.time_limit = std::chrono::milliseconds{0};  // a step per start
  ASSERT_FALSE(run_rft(rft, place(""), {.quiet = true}).complete);
  const std::string before = text_of("rft/selection.json");
  record(12, 1);
  ASSERT_FALSE(run_rft(rft, place("rft"), {.quiet = true}).complete);
  EXPECT_EQ(text_of("rft/selection.json"), before);
}

TEST_F(SelectedRunTest, ARefusedResumeKeepsTheConfiguration) {
  record(12, 1);
  RunConfig rft = config(Stage::rft, "rft", {"sft.epochs=3"});
  rft.run.time_limit = std::chrono::milliseconds{0};
  ASSERT_FALSE(run_rft(rft, place(""), {.quiet = true}).complete);
  const std::string before = text_of("rft/config.toml");
  RunConfig bad = rft;
  bad.model.folder = "/no/model";
  (void)refused(run_rft, bad, "rft");
  EXPECT_EQ(text_of("rft/config.toml"), before);
  EXPECT_FALSE(fs::exists(folder_.path() / "rft" / "config.1.toml"));
}

}  // namespace

}  // namespace warpsmith::commands

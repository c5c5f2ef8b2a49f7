// SPDX-License-Identifier: Apache-2.0
#include "commands/train/data_run.hpp"

#include <gtest/gtest.h>

#include "runtime/run/durable_file.hpp"
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

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// A resume that is refused.
#include "commands/train/stage_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "actors/run/model_text.hpp"
#include "actors/run/run_session.hpp"
#include "policy/format/hf_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A run of four steps with a checkpoint, whose model's folder can change.
class TrainRunTest : public ::testing::Test {
 protected:
  TrainRunTest() {
    fs::copy("configs/policy/tiny", model());
    config_ = load_run_config("configs/quickstart.toml", {}).value();
    config_.model.folder = model();
    config_.run.time_limit = {};
    config_.run.folder = root_.path();
    config_.run.name = "run";
  }

  fs::path model() const { return root_.path() / "model"; }
  fs::path run() const { return root_.path() / "run"; }
  void change_tokenizer() const {
    std::ofstream{model() / "tokenizer.json", std::ios::app} << '\n';
  }

  void make_run() const {
    auto session = begin_run(config_, "test", "{}");
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_TRUE(keep_text({run()}, model(), read_text_model(config_)->frame));
    LedgerStore& ledger = session->ledger->store;
    for (uint32_t step = 1; step <= 4; ++step) {
      ASSERT_TRUE(ledger.mark_trained(StepRow{.version = {1, step}}));
    }
    RandomStream random{1, "weights"};
    const auto drawn = policy::make_hf_model(model(), random);
    const auto saved = session->checkpoints->write(
        {1, 4}, [&](const fs::path& to) { return policy::save_hf_model(to, *drawn, model()); });
    ASSERT_TRUE(saved) << saved.error().message;
    ASSERT_TRUE(ledger.checkpointed(4));
    ASSERT_TRUE(ledger.flush());
  }
  /// Every file of the run with its content.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator{run()}) {
      if (!entry.is_regular_file()) continue;
      files[entry.path().string()] = read_text_file(entry.path(), size_t{1} << 28U).value();
    }
    return files;
  }

  test_support::TemporaryFolder root_;
  RunConfig config_;
};

TEST_F(TrainRunTest, ATokenizerThatChangedIsNotCopiedIntoLaterCheckpoints) {
  make_run();
  ASSERT_TRUE(fs::exists(RunPaths{run()}.checkpoints() / "step-4" / "tokenizer.json"));
  const auto before = content();
  change_tokenizer();
  testing::internal::CaptureStderr();
  const StageEnd end = run_training(config_, {"", run().string()}, {.quiet = true});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("tokenizer.json or the chat template of " + model().string() +
                        " is no longer what its trajectories were recorded with"));
  EXPECT_EQ(end.code, ExitCode::bad_input);
  EXPECT_EQ(content(), before);
}

}  // namespace
}  // namespace warpsmith::commands

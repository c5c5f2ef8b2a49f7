// SPDX-License-Identifier: Apache-2.0
// The stages that learn from given data, killed between two checkpoints: the chain ends as if it
// had not been killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_listing.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/commands/program_fixture.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;

const std::vector<std::string> stages{"1-sft", "2-rft", "3-value"};

class ChainKillTest : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    const auto config = load_run_config("configs/quickstart.toml", {});
    ASSERT_TRUE(config) << config.error().message;
    RecordedRun source{{folder() / "collect"}, *config};
    for (int i = 0; i < 24; ++i) source.record({written, verified, submitted}, i % 2 == 0 ? 2 : 1);
    std::ostringstream lines;
    for (int i = 0; i < 24; ++i) {
      lines << R"({"task_id": "t", "messages": [{"role": "user", "content": "say )" << i
            << R"("}, {"role": "assistant", "content": "it is )" << i << R"(", "train": true}]})"
            << '\n';
    }
    file("data.jsonl", lines.str());
  }

  std::vector<std::string> start_words(const std::string& name) const {
    const std::string runs = "=[\"" + (folder() / "collect").string() + "\"]";
    return with_settings({"train", "configs/quickstart.toml", "--quiet"},
                         {R"(run.stages=["sft", "rft", "value"])", "run.name=" + name,
                          "run.folder=" + folder().string(), "rft.runs" + runs, "value.runs" + runs,
                          "sft.data=" + (folder() / "data.jsonl").string(), "sft.batch_tokens=512",
                          "sft.context=512", "sft.epochs=20", "learner.threads=1",
                          "ledger.checkpoint_steps=4", "value.batch_tokens=512", "value.epochs=10",
                          "value.patience=1000", "value.held_out_share=0.2"});
  }
  static std::vector<std::string> resume_words(const fs::path& chain) {
    return {"train", "--resume", chain.string(), "--quiet"};
  }

  /// Kills the program one step or more after the stage's second checkpoint.
  static testing::AssertionResult kill_in(const fs::path& stage, std::vector<std::string> words) {
    Child child = start(std::move(words));
    const Deadline deadline = Deadline::after(seconds{120});
    while (!deadline.passed() && steps_of(stage) < 9 && !child.finished(milliseconds{1})) {
    }
    child.signal(SIGKILL);
    const ChildExit end = child.wait(Deadline::after(seconds{20}));
    if (steps_of(stage) >= 9 && !fs::exists(stage.string() + ".json")) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << stage << ": " << end.err;
  }
  std::string shown(const fs::path& run_folder) {
    const ChildExit end = run({"runs", "show", run_folder.string()});
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  /// The newest start is that of the killed chain; another chain has finished.
  void shows_the_killed_chain() {
    EXPECT_EQ(find_run(folder(), "latest").value().folder, folder() / "killed");
    const ChildExit listed = run({"runs", "list", "--root", folder().string()});
    EXPECT_THAT(listed.out,
                ContainsRegex("killed +killed .*chain: 0 of 3 stages finished; in sft"));
    EXPECT_THAT(listed.out, ContainsRegex("whole +finished .*chain: 3 of 3 stages finished"));
    const std::string text = shown(folder() / "killed");
    EXPECT_THAT(text, HasSubstr("killed, killed\n"));
    EXPECT_THAT(text, ContainsRegex("  sft +killed +step [0-9]+ of [0-9]+, loss "));
    EXPECT_THAT(text, HasSubstr("resume with: ./warpsmith train --resume "));
    EXPECT_THAT(shown(folder() / "whole/stages/3-value"), HasSubstr("explained variance "));
  }
  static std::string text_of(const fs::path& file) {
    return read_text_file(file, 1U << 20U).value_or("");
  }
  /// The lines of steps.jsonl.
  static std::ptrdiff_t steps_of(const fs::path& stage) {
    const std::string lines = text_of(stage / "steps.jsonl");
    return std::count(lines.begin(), lines.end(), '\n');
  }
};

TEST_F(ChainKillTest, AStageKilledBetweenStepsEndsWithTheSameResult) {
  const fs::path whole = folder() / "whole" / "stages";
  const fs::path killed = folder() / "killed" / "stages";
  const ChildExit undisturbed = run(start_words("whole"));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  ASSERT_TRUE(kill_in(killed / stages[0], start_words("killed")));
  shows_the_killed_chain();
  for (size_t i = 1; i < stages.size(); ++i) {
    ASSERT_TRUE(kill_in(killed / stages[i], resume_words(folder() / "killed")));
  }
  const ChildExit refused =
      run({"train", "--resume", (folder() / "killed").string(), "--set", "rollout.count=3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--set rollout.count has no effect on this resume"));
  const ChildExit end = run(resume_words(folder() / "killed"));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  const std::string text = shown(folder() / "killed");
  EXPECT_THAT(text, HasSubstr("killed, finished\n"));
  EXPECT_THAT(text, HasSubstr("3 of 3 stages finished\n"));
  for (const std::string& stage : stages) {
    EXPECT_EQ(text_of(killed / stage / "steps.jsonl"), text_of(whole / stage / "steps.jsonl"));
  }
  for (const char* made : {"1-sft/model/model.safetensors", "2-rft/model/model.safetensors",
                           "3-value/critic/value_head.safetensors"}) {
    const auto hash = hash_of_file(whole / made);
    ASSERT_TRUE(hash) << hash.error().message;
    EXPECT_EQ(hash_of_file(killed / made).value_or("none"), *hash) << made;
  }
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// A chain of stages as a program: from its first stage to its table, killed in the middle of each.
#include <gmock/gmock.h>

#include "runtime/run/trajectory_reader.hpp"
#include "tests/commands/train/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

const std::vector<std::string> names{"warmup", "collect", "rft", "value", "agentic"};

class ChainProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    std::ofstream{config(), std::ios::app}
        << "[learner.critic]\nkind = \"separate\"\n[learner]\nforwards = \"at_use\"\n"
           "[collect]\nsamples = 16\n[rft]\nrepeated_calls = true\ninvalid_calls = \"turn\"\n"
           "[sft]\nbatch_tokens = 1024\ncontext = 512\nepochs = 2\nlearning_rate = 1e-4\n"
           "[value]\nbatch_tokens = 1024\nheld_out_share = 0.2\nepochs = 3\n"
           "[stage.warmup]\nrun.trajectories = 16\n[stage.agentic]\nrun.trajectories = 16\n";
  }

  std::vector<std::string> start_words() const {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "\"" : ", \"") + name + '"';
    return {"train",
            config(),
            "--quiet",
            "--set",
            "run.name=chain",
            "--set",
            "run.stages=[" + list + "]"};
  }
  fs::path chain() const { return runs() / "chain"; }
  fs::path stage(size_t index) const {
    return chain() / "stages" / (std::to_string(index + 1) + '-' + names[index]);
  }
  fs::path record(size_t index) const { return stage(index).string() + ".json"; }
  std::string text_of(const fs::path& file) const {
    return read_text_file(file, 1U << 20U).value_or("");
  }

  /// True once the stage has something to lose: trajectories, or a selection to learn from.
  bool is_under_way(size_t index) const {
    if (fs::exists(record(index)) || fs::exists(stage(index) / "selection.json")) return true;
    const auto read = read_summary({stage(index)});
    return read && read->admitted > 4;
  }
  /// Kills the program as soon as the stage is in progress.
  testing::AssertionResult kill_in(size_t index, std::vector<std::string> words) {
    Child child = start(std::move(words));
    const Deadline deadline = Deadline::after(patience);
    bool ended = false;
    while (!ended && !deadline.passed() && !is_under_way(index)) {
      ended = child.finished(milliseconds{50});
    }
    child.signal(SIGKILL);
    const ChildExit end = child.wait(Deadline::after(seconds{20}));
    if (is_under_way(index)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << names[index] << ": " << end.err;
  }
};

TEST_F(ChainProgramTest, AChainKilledInEachStageLosesNothingAndTrainsNothingTwice) {
  std::vector<std::string> finished;  // records of stages that were complete at a kill
  for (size_t i = 0; i < names.size(); ++i) {
    const bool first = i == 0;
    ASSERT_TRUE(kill_in(
        i, first ? start_words()
                 : std::vector<std::string>{"train", "--resume", chain().string(), "--quiet"}));
    for (size_t k = 0; k < finished.size(); ++k) EXPECT_EQ(text_of(record(k)), finished[k]);
    for (size_t k = finished.size(); k < i; ++k) finished.push_back(text_of(record(k)));
  }
  const ChildExit end = run({"train", "--resume", chain().string(), "--quiet", "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("stage 1/5 warmup: done before"));
  for (const size_t i : {0UL, 4UL}) {
    const auto read = read_summary({stage(i)});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->admitted, 16U) << names[i];
    EXPECT_EQ(read->in_flight, 0U) << names[i];
    EXPECT_TRUE(read->is_conserved()) << names[i];
  }
  EXPECT_EQ(read_summary({stage(1)})->closed, 16U) << "each task is sampled as often as asked";
  const json out = json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(has_keys(out, {"run", "stages"}));
  ASSERT_EQ(out["stages"].size(), 5U);
  EXPECT_TRUE(fs::exists(stage(3) / "critic" / "value_head.safetensors"));
  EXPECT_EQ(out["stages"][2]["model"], (stage(2) / "model").string());
  EXPECT_THAT(text_of(stage(4) / "config.toml"), HasSubstr((stage(2) / "model").string()));
  EXPECT_THAT(text_of(stage(4) / "config.toml"), HasSubstr((stage(3) / "critic").string()));
  EXPECT_THAT(text_of(chain() / "table.txt"), HasSubstr("agentic"));

  const ChildExit listed =
      run({"runs", "trajectories", stage(1).string(), "--best", "--limit", "3"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("square_mean"));
  const ChildExit shown = run({"runs", "trajectories", stage(1).string(), "--show", "1"});
  EXPECT_THAT(shown.out, HasSubstr("--- turn 1: sampled"));
  EXPECT_THAT(shown.out, HasSubstr("--- outcome: reward"));
}

TEST_F(ChainProgramTest, AStageThatLostItsDatabaseIsNotRestarted) {
  ASSERT_TRUE(kill_in(0, start_words()));
  for (const char* file : {"run.db", "run.db-wal", "run.db-shm"}) fs::remove(stage(0) / file);
  const ChildExit end = run({"train", "--resume", chain().string(), "--quiet"});
  EXPECT_EQ(end.exit_code, 2) << end.err;
  EXPECT_THAT(end.err, HasSubstr("run.db is missing"));
  EXPECT_FALSE(fs::is_empty(stage(0) / "segments"));
}

TEST_F(ChainProgramTest, BadChainsLeaveNothing) {
  const auto refusal = [this](const std::string& stages) {
    const ChildExit end = run({"train", config(), "--set", "run.stages=" + stages});
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_FALSE(fs::exists(runs()));
    return end.err;
  };
  EXPECT_THAT(refusal(R"(["agentic", "agentic"])"), HasSubstr("\"agentic\" is listed twice"));
  EXPECT_THAT(refusal(R"(["rft"])"), HasSubstr("put a stage \"collect\" before it"));
  const auto single = [this](const std::string& stage, const std::string& key) {
    const ChildExit end = run({"train", config(), "--set", "run.stage=" + stage, "--set", key});
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_FALSE(fs::exists(runs()));
    return end.err;
  };
  EXPECT_THAT(single("rft", "rft.runs=[\"/no/run\"]"),
              HasSubstr("/no/run: no run with trajectories"));
  EXPECT_THAT(single("value", "value.runs=[]"), HasSubstr("value.runs: expected at least one run"));
  EXPECT_THAT(single("agentic", "learner.critic.folder=/no/critic"),
              HasSubstr("set learner.critic.folder to a critic of this model"));
}

TEST_F(ChainProgramTest, ARunningChainIsLocked) {
  Child first = start(start_words());
  const Deadline deadline = Deadline::after(patience);
  while (!deadline.passed() && !fs::exists(chain() / "config.toml"))
    (void)first.finished(milliseconds{50});
  const ChildExit second = run({"train", "--resume", chain().string()});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("is in use by process"));
  first.signal(SIGKILL);
  (void)first.wait(Deadline::after(seconds{20}));
}

}  // namespace
}  // namespace warpsmith::commands

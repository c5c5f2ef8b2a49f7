// SPDX-License-Identifier: Apache-2.0
// What a chain refuses before it trains, and what its folder contains afterwards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

#include "actors/run/run_session.hpp"
#include "commands/train/chain_run.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Settings = std::vector<std::string>;

/// Two supervised stages; the second has its own name.
class ChainCheckTest : public ::testing::Test {
 protected:
  ChainCheckTest() {
    std::ofstream data{folder_.path() / "data.jsonl"};
    for (int i = 0; i < 8; ++i) {
      data << R"({"task_id": "t", "messages": [{"role": "user", "content": "say what is )" << i
           << R"( times )" << i << R"("}, {"role": "assistant", "content": "it is surely )" << i * i
           << R"(, no more and no less", "train": true}]})" << '\n';
    }
    std::ofstream{file()}
        << "[run]\nseed = 1\nstages = [\"sft\", \"more\"]\nname = \"chain\"\nfolder = '"
        << folder_.path().string() << "'\n[model]\nfolder = '" << tiny()
        << "'\nweights = \"random\"\n[synthesis]\ntasks = ['"
        << fs::absolute("configs/tasks/cpu/train").string()
        << "']\n[agent]\nchat_template = \"chatml\"\nsyntax = \"xml\"\n"
           "max_tokens = 1024\nresult_tokens = 64\n"
           "[generator]\nmax_new_tokens = 200\n"
           "[sft]\nbatch_tokens = 512\ncontext = 512\ndata = \"data.jsonl\"\n"
           "[stage.more]\nrun.stage = \"sft\"\n";
  }

  static std::string tiny() { return fs::absolute("configs/policy/tiny").string(); }
  fs::path file() const { return folder_.path() / "chain.toml"; }
  fs::path chain() const { return folder_.path() / "chain"; }
  fs::path stage(const std::string& name) const { return chain() / "stages" / name; }

  /// What a run of the program printed.
  struct Printed {
    ExitCode code = ExitCode::success;
    std::string text;
  };
  Printed start(const Settings& settings = {}) const {
    return run({file().string(), ""}, settings);
  }
  Printed resume(const Settings& settings = {}) const {
    return run({"", chain().string()}, settings);
  }
  /// A chain that ended after its first stage. What it printed.
  std::string start_half() const {
    const Printed whole = start();
    EXPECT_EQ(whole.code, ExitCode::success) << whole.text;
    fs::remove_all(stage("2-more"));
    fs::remove(stage("2-more.json"));
    fs::remove(chain() / "table.txt");
    return whole.text;
  }

  /// Begins the run of a stage that samples, as a process leaves it that was killed before its
  /// first step.
  std::unique_ptr<RecordedRun> begin_sampling(const std::string& name) const {
    RunConfig config = load_stage(stage(name + ".toml"), {}, name.substr(2)).value().config;
    config.model.folder = tiny();
    auto run = std::make_unique<RecordedRun>(RunPaths{stage(name)}, config);
    EXPECT_TRUE(keep_text({stage(name)}, tiny(), run->text().frame));
    return run;
  }

  /// Every file below the chain with its content, but for SQLite's memory that readers share.
  std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator{chain()}) {
      if (entry.path().filename() == "run.db-shm") continue;
      files[entry.path().string()] =
          entry.is_regular_file() ? read_text_file(entry.path(), size_t{1} << 28U).value() : "";
    }
    return files;
  }
  static std::string text_of(const fs::path& file) {
    return read_text_file(file, 1U << 20U).value_or("");
  }

 private:
  static Printed run(const RunPlace& place, const Settings& settings) {
    testing::internal::CaptureStderr();
    const auto config = place.resume.empty() ? load_run_config(place.config_file, settings)
                                             : config_of_run(place.resume, settings);
    const ExitCode code =
        config ? run_chain(*config, place, {.quiet = true}, settings) : report(config.error());
    return {code, testing::internal::GetCapturedStderr()};
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(ChainCheckTest, ARefusedResumeLeavesTheFolderAsItWas) {
  const auto refuse = [&](const Settings& settings) {
    const auto before = content();
    const Printed refused = resume(settings);
    EXPECT_NE(refused.code, ExitCode::success) << settings.front();
    EXPECT_EQ(content(), before) << settings.front();
    return refused.text;
  };
  const auto refuse_all = [&] {
    EXPECT_THAT(refuse({"sft.data=/no/data"}), HasSubstr("stage more: /no/data"));
    EXPECT_THAT(refuse({"stage.more.model.folder=/no/model"}), HasSubstr("/no/model"));
    EXPECT_THAT(refuse({"agent.chat_template=llama3"}), HasSubstr("chat_template"));
    EXPECT_THAT(refuse({"sft.no_key=1"}), HasSubstr("unknown key"));
    EXPECT_THAT(refuse({"stage.more.sft.context=17"}),
                HasSubstr("8 left out: 8 longer than sft.context (17 tokens)"));
  };
  (void)start_half();
  refuse_all();
  const Printed begun = resume({"stage.more.sft.context=512", "stage.more.sft.epochs=10000",
                                "stage.more.run.time_limit=1s"});
  ASSERT_TRUE(fs::exists(stage("2-more") / "checkpoints")) << begun.text;
  ASSERT_FALSE(fs::exists(stage("2-more.json"))) << begun.text;
  refuse_all();
}

TEST_F(ChainCheckTest, AnotherTokenizerForAStageThatHasBegunLeavesTheFolderAsItWas) {
  const Printed stopped = start({R"(run.stages=["sft", "more", "agentic"])", "model.weights=load",
                                 "stage.sft.model.weights=random", "stage.more.sft.epochs=10000",
                                 "stage.more.run.time_limit=1s"});
  ASSERT_EQ(stopped.code, ExitCode::success) << stopped.text;
  const auto run = begin_sampling("3-agentic");
  const fs::path other = chain().parent_path() / "other";
  fs::copy(tiny(), other);
  std::ofstream{other / "tokenizer.json", std::ios::app} << '\n';
  const auto before = content();
  const Printed refused = resume({"stage.agentic.model.folder=" + other.string()});
  EXPECT_EQ(refused.code, ExitCode::bad_input) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("stage agentic: " + stage("3-agentic").string()));
  EXPECT_THAT(refused.text, HasSubstr("begin a new run"));
  EXPECT_EQ(content(), before);
}

TEST_F(ChainCheckTest, AResumeAcceptsKeysOfAStageWithItsOwnName) {
  (void)start_half();
  EXPECT_THAT(resume({"stage.moer.sft.context=512"}).text, HasSubstr("stage.moer: expected"));
  const Printed whole = resume({"stage.more.sft.context=500"});
  EXPECT_EQ(whole.code, ExitCode::success) << whole.text;
  EXPECT_THAT(text_of(stage("2-more.toml")), HasSubstr("context = 500"));
  EXPECT_THAT(text_of(stage("2-more") / "config.toml"), HasSubstr(stage("1-sft/model").string()));
  EXPECT_THAT(text_of(stage("1-sft.toml")), HasSubstr("context = 512"));
  EXPECT_TRUE(fs::exists(chain() / "table.txt"));
  EXPECT_THAT(whole.text, Not(HasSubstr("nothing was left to do")));
  EXPECT_THAT(resume().text, HasSubstr("nothing was left to do: all stages were finished"));
}

TEST_F(ChainCheckTest, ALaterStageIsRefusedBeforeTheFirstTrains) {
  const auto refuse = [&](const Settings& settings) {
    const Printed refused = start(settings);
    EXPECT_EQ(refused.code, ExitCode::bad_input) << settings.front();
    EXPECT_FALSE(fs::exists(chain())) << settings.front();
    return refused.text;
  };
  EXPECT_THAT(refuse({"stage.more.sft.data=/no/data"}), HasSubstr("stage more: /no/data"));
  EXPECT_THAT(refuse({"stage.more.sft.context=16"}), HasSubstr("8 longer than sft.context (16"));
  EXPECT_THAT(refuse({"stage.more.sft.data=''", "stage.more.sft.script=/no/script.py"}),
              HasSubstr("stage more: sft.script: expected a Python script"));
  const auto refuse_after = [&](const std::string& stage, const std::string& setting) {
    return refuse({"run.stages=[\"sft\", \"more\", \"" + stage + "\"]", "model.weights=load",
                   "stage.sft.model.weights=random", setting});
  };
  EXPECT_THAT(refuse_after("rft", R"(rft.runs=["/no/run"])"),
              HasSubstr("stage rft: /no/run: no run with trajectories"));
  EXPECT_THAT(refuse_after("collect", R"(synthesis.tasks=["/no/tasks"])"),
              HasSubstr("stage collect: /no/tasks"));
  EXPECT_THAT(refuse_after("agentic", "learner.critic.folder=/no/critic"),
              HasSubstr("stage agentic: cannot open /no/critic"));
}

TEST_F(ChainCheckTest, AStageStartsFromThePolicyThatItsTableNames) {
  EXPECT_THAT(start_half(), HasSubstr("from the policy in " + stage("1-sft/model").string()));
  const Printed own = resume({"stage.more.sft.context=17", "stage.more.model.folder=" + tiny()});
  EXPECT_NE(own.code, ExitCode::success);
  const Printed whole = resume({"stage.more.sft.context=512", "stage.more.model.folder=" + tiny(),
                                "stage.more.model.weights=load"});
  ASSERT_EQ(whole.code, ExitCode::success) << whole.text;
  EXPECT_THAT(whole.text, HasSubstr("from the policy in " + tiny()));
  EXPECT_THAT(text_of(stage("2-more") / "config.toml"), HasSubstr("folder = \"" + tiny() + '"'));
  EXPECT_THAT(text_of(stage("2-more.toml")), HasSubstr("[stage.\"more\"]"));
}

TEST(ConfigWithTest, ValuesFromAStagesOwnTableAreNotReplaced) {
  ChainStage stage{"agentic", {}};
  stage.config.model.folder = "start";
  stage.config.learner.critic.folder = "first";
  const ChainArtifacts from{"policy", "critic", {}};
  EXPECT_EQ(config_with(stage, from).model.folder, "policy");
  EXPECT_EQ(config_with(stage, from).learner.critic.folder, "critic");
  EXPECT_EQ(config_with(stage, {}).learner.critic.folder, "first") << "until `value` makes one";
  stage.own_policy = stage.own_critic = true;
  EXPECT_EQ(config_with(stage, from).model.folder, "start");
  EXPECT_EQ(config_with(stage, from).learner.critic.folder, "first");
}

}  // namespace
}  // namespace warpsmith::commands

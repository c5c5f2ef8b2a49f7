// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/run_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

// The required keys of a run.
const std::string least =
    "[run]\nseed = 1\n[model]\nfolder = \"m\"\n[synthesis]\ntasks = [\"t\"]\n";

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto config = parse_run_config("c.toml", text, overrides);
  return config ? "" : config.error().message;
}

TEST(RunConfigTest, DefaultsAreValidOnceTheRequiredKeysAreSet) {
  EXPECT_EQ(error_of(least), "");
}

TEST(RunConfigTest, SeedModelAndTasksAreRequired) {
  EXPECT_EQ(error_of(""),
            "c.toml: run.seed: required, and not set\n"
            "c.toml: model.folder: required, and not set\n"
            "c.toml: synthesis.tasks: expected at least one folder or file of tasks, or "
            "synthesis.count > 0");
}

TEST(RunConfigTest, UnknownKeysWrongTypesAndImpossibleCombinationsAreReportedTogether) {
  const std::string text = least +
                           "[learner.optimizer]\nlerning_rate = 1e-5\n"
                           "[learner.step]\nepochs = \"two\"\ntrajectories = 5000\n";
  const std::string error = error_of(text);
  EXPECT_THAT(error,
              HasSubstr("c.toml:8: unknown key learner.optimizer.lerning_rate; the nearest is "
                        "learner.optimizer.learning_rate"));
  EXPECT_THAT(error, HasSubstr("c.toml:10: learner.step.epochs: expected an integer from 1 to 100, "
                               "got string \"two\""));
  EXPECT_THAT(error, HasSubstr("c.toml:11: learner.step.trajectories: expected at most "
                               "run.trajectories (1024)"));
}

TEST(RunConfigTest, OverridesReachEveryComponent) {
  const auto config = parse_run_config("c.toml", least,
                                       {"run.seed=7", "learner.optimizer.learning_rate=1e-5",
                                        "sandbox.limits.call=2s", "run.stage=agentic"});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->run.seed, 7);
  EXPECT_EQ(config->learner.optimizer.learning_rate, 1e-5);
  EXPECT_EQ(config->sandbox.settings.call_timeout, std::chrono::seconds{2});
}

std::vector<std::string> baselines_of(const std::vector<std::string>& overrides) {
  const auto config = parse_run_config("c.toml", least, overrides);
  if (!config) return {config.error().message};
  return further_baselines(config->sandbox);
}

TEST(RunConfigTest, GpuSlotsTimeFurtherBaselinesOnlyOnRequest) {
  using testing::ElementsAre;
  EXPECT_THAT(baselines_of({}), ElementsAre());
  EXPECT_THAT(baselines_of({"sandbox.contract=\"device\""}), ElementsAre());
  EXPECT_THAT(baselines_of({"sandbox.contract=\"device\"", "sandbox.baselines=[\"auto\"]"}),
              ElementsAre("max-autotune", "cuda-graph"));
  EXPECT_THAT(baselines_of({"sandbox.contract=\"host\"", "sandbox.baselines=[\"cuda-graph\"]"}),
              ElementsAre("cuda-graph"));
}

TEST(RunConfigTest, BaselinesThatASlotCannotHaveAreRefused) {
  EXPECT_THAT(error_of(least, {"sandbox.baselines=[\"cuda-graph\"]"}),
              HasSubstr("sandbox.baselines: expected [] or [\"auto\"]: a slot on a CPU core "
                        "times only eager and torch.compile"));
  EXPECT_THAT(error_of(least, {"sandbox.contract=\"device\"",
                               "sandbox.baselines=[\"auto\", \"cuda-graph\"]"}),
              HasSubstr("expected only \"auto\""));
  EXPECT_THAT(error_of(least, {"sandbox.baselines=[\"fast\"]"}), HasSubstr("\"cuda-graph\""));
}

TEST(RunConfigTest, SynchronousModeMeansNoLag) {
  const auto config = parse_run_config("c.toml", least, {"run.mode=sync"});
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->learner.max_lag, 0);
  EXPECT_THAT(
      error_of(least, {"run.mode=sync", "learner.max_lag=2"}),
      HasSubstr("--set learner.max_lag=2: learner.max_lag: run.mode = \"sync\" means lag 0"));
  EXPECT_THAT(error_of(least, {"learner.max_lag=0"}), HasSubstr("run.mode = \"async\" needs"));
}

TEST(RunConfigTest, SeveralRanksDoNotStreamForwards) {
  EXPECT_THAT(error_of(least, {"learner.gpus=2"}),
              HasSubstr("learner.forwards: expected \"at_use\" with learner.gpus > 1"));
  EXPECT_THAT(error_of(least, {"learner.gpus=0"}), HasSubstr("learner.gpus: expected an integer"));
}

TEST(RunConfigTest, AdaptersNeedARankAndKnownTargets) {
  EXPECT_THAT(error_of(least, {"learner.lora.alpha=8"}),
              HasSubstr("learner.lora.rank: expected at least 1"));
  EXPECT_THAT(error_of(least, {"learner.lora.rank=4", "learner.lora.targets=[\"q_proj\"]"}),
              HasSubstr("\"gate_up\""));
  EXPECT_THAT(error_of(least, {"learner.lora.rank=4", "learner.lora.targets=[]"}),
              HasSubstr("learner.lora.targets: expected at least one"));
}

TEST(RunConfigTest, StagesThatLearnFromDataHaveOneRankAndNoAdapters) {
  const std::vector<std::string> data{"run.stage=sft", "sft.data=d.jsonl",
                                      "learner.forwards=at_use", "learner.gpus=2",
                                      "learner.lora.rank=4"};
  EXPECT_THAT(error_of(least, data),
              HasSubstr("learner.gpus: expected 1 with run.stage = \"sft\""));
  EXPECT_THAT(error_of(least, data), HasSubstr("learner.lora.rank: expected 0 (off)"));
}

TEST(RunConfigTest, ATrajectoryMustFitTheCache) {
  EXPECT_THAT(error_of(least, {"generator.cache_tokens=1024"}),
              HasSubstr("agent.max_tokens: expected at most generator.cache_tokens (1024)"));
}

TEST(RunConfigTest, AShellCommandMustFitItsCall) {
  EXPECT_THAT(
      error_of(least, {"agent.tool_timeout=5s", "tool_executor.shell_timeout=6s"}),
      HasSubstr("tool_executor.shell_timeout: expected at most agent.tool_timeout (5000 ms)"));
}

TEST(RunConfigTest, HeldOutTasksMustNotBeTrainedOn) {
  EXPECT_THAT(error_of(least, {"synthesis.held_out=[\"a\", \"b\"]", "synthesis.tasks=[\"b\"]"}),
              HasSubstr("synthesis.held_out: b is also in synthesis.tasks"));
  EXPECT_THAT(error_of(least, {"synthesis.curriculum.success_low=0.9"}),
              HasSubstr("synthesis.curriculum.success_low: expected less than success_high"));
}

TEST(RunConfigTest, ANodeIsReachedByACommand) {
  for (const char* nodes : {"[\"\"]", "[\"ssh a\", \"  \"]"}) {
    EXPECT_THAT(error_of(least, {std::string{"synthesis.compose.nodes="} + nodes}),
                HasSubstr("synthesis.compose.nodes: expected commands that run `warpsmith synth "
                          "worker` elsewhere, got an empty one"));
  }
}

TEST(RunConfigTest, SharesOfComposedTasksHaveTheFormOfSynth) {
  for (const char* good : {"1=3.4,2=83.8,transformers=1", "2=1", "1=0,5=1e1"}) {
    EXPECT_EQ(error_of(least, {std::string{"synthesis.compose.shares="} + good}), "");
  }
  const std::pair<const char*, const char*> wrong[]{
      {"2", "expected NUMBER=SHARE,…, got 2"},
      {"2=1,", "expected NUMBER=SHARE,…, got 2=1,"},
      {"2=much", "expected NUMBER=SHARE,…, got 2=much"},
      {"9=1", "expected shares of 1 to 5 and transformers, got 9=1"},
      {"2=-1,3=2", "expected shares of 1 to 5 and transformers, got 2=-1,3=2"},
      {"2=inf", "expected shares of 1 to 5 and transformers, got 2=inf"},
      {"2=0", "expected shares of 1 to 5 and transformers, got 2=0"}};
  for (const auto& [text, complaint] : wrong) {
    EXPECT_THAT(error_of(least, {"synthesis.compose.shares=\"" + std::string{text} + '"'}),
                HasSubstr(std::string{"synthesis.compose.shares: "} + complaint));
  }
}

TEST(RunConfigTest, TheEndpointOfAComposerNeedsUrlAndModel) {
  const std::string of = "synthesis.compose.";
  const std::string llm = of + "composer=llm", url = of + "url=http://h/v1", model = of + "model=m";
  EXPECT_EQ(error_of(least, {llm}), "") << "the run's own generator";
  EXPECT_EQ(error_of(least, {llm, url, model, of + "key_env=KEY"}), "");
  const std::pair<std::vector<std::string>, const char*> wrong[]{
      {{url, model}, "synthesis.compose.url: goes with synthesis.compose.composer"},
      {{llm, model}, "synthesis.compose.model: goes with synthesis.compose.url"},
      {{llm, of + "key_env=KEY"}, "synthesis.compose.key_env: goes with synthesis.compose.url"},
      {{llm, url}, "synthesis.compose.model: expected a name"},
      {{llm, of + "url=ftp://h", model}, "synthesis.compose.url: expected http"},
      {{llm, url, model, of + "key_env=sk-planted"},
       "synthesis.compose.key_env: expected the name"}};
  for (const auto& [overrides, complaint] : wrong) {
    const std::string error = error_of(least, overrides);
    EXPECT_THAT(error, HasSubstr(complaint));
    EXPECT_THAT(error, Not(HasSubstr("planted")));
  }
}

TEST(RunConfigTest, ATimeWindowForComposedTasksNeedsBothEnds) {
  EXPECT_EQ(error_of(least, {"synthesis.compose.min_ms=1", "synthesis.compose.max_ms=2"}), "");
  for (const char* alone : {"synthesis.compose.min_ms=1", "synthesis.compose.max_ms=0.0"}) {
    EXPECT_EQ(error_of(least, {alone}).empty(), std::string{alone}.ends_with("0.0"));
  }
}

TEST(RunConfigTest, BrokenSyntaxIsTheOnlyComplaint) {
  EXPECT_THAT(error_of("[run\n"), Not(HasSubstr("required")));
}

TEST(RunConfigTest, EffectiveConfigurationReadsBackUnchanged) {
  const std::vector<std::vector<std::string>> options{
      {},
      {"run.seed=3", "learner.loss.clip_high=0.3"},
      {"run.mode=sync"},
      {"learner.advantage.lambda_alpha=0.05"},
      {"learner.advantage.lambda=0.9", "learner.advantage.running_scale=true",
       "learner.critic.prompt_baseline=true", "learner.critic.surprise=true"},
      {"learner.critic.kind=shared", "learner.critic.stop_gradient=true",
       "learner.critic.value_clip=0.2"},
      {"learner.loss.dual_clip=3", "learner.loss.sequence_high=2", "learner.overlong.limit=100",
       "learner.overlong.margin=10", "learner.loss.kl=0.1", "learner.loss.entropy=0.01"},
      {"learner.gpus=2", "learner.forwards=at_use", "learner.rank_timeout=1m",
       "learner.lora.rank=8", "learner.lora.targets=[\"qkv\"]"},
      {"run.stage=sft", "model.weights=random", "sft.data=d.jsonl"},
      {"run.stage=sft", "sft.script=s.toml"},
      {"synthesis.compose.composer=llm", "synthesis.compose.url=http://h/v1",
       "synthesis.compose.model=m", "synthesis.compose.answer_time=5s"},
      {"synthesis.compose.shares=2=1,3=1", "synthesis.compose.compile=aot_eager",
       "synthesis.compose.min_ms=0.5", "synthesis.compose.max_ms=9"},
      {"synthesis.held_out=[\"h\"]", "generator.temperature=0", "rollout.reward=log_speedup"}};
  for (const auto& overrides : options) {
    const auto config = parse_run_config("c.toml", least, overrides);
    ASSERT_TRUE(config.has_value()) << config.error().message;
    const std::string text = to_toml(*config);
    const auto back = parse_run_config("elsewhere/config.toml", text, {});
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(to_toml(*back), text);
    EXPECT_THAT(text, HasSubstr("[sandbox.limits]"));
  }
}

TEST(RunConfigTest, AKeyInTheWrongTableIsFoundInItsRightTable) {
  EXPECT_THAT(error_of(least, {"learner.clip_low=0.1"}),
              HasSubstr("unknown key learner.clip_low; the nearest is learner.loss.clip_low"));
  EXPECT_THAT(error_of(least, {"learner.step_trajectories=8"}),
              HasSubstr("the nearest is learner.step.trajectories"));
  EXPECT_THAT(error_of(least, {"learner.stepp=8"}),
              HasSubstr("unknown key learner.stepp; the nearest is the table learner.step with the "
                        "keys learner.step.epochs, "));
  EXPECT_THAT(error_of(least, {"learner.loss=ppo"}),
              HasSubstr("learner.loss: expected a table, got string \"ppo\""));
}

TEST(RunConfigTest, LambdaAndItsReplacementExcludeEachOther) {
  EXPECT_THAT(
      error_of(least, {"learner.advantage.lambda_alpha=0.05", "learner.advantage.lambda=0.9"}),
      HasSubstr("learner.advantage.lambda: learner.advantage.lambda_alpha replaces it"));
}

TEST(RunConfigTest, DotsInQuotedKeysDoNotNameTables) {
  EXPECT_EQ(error_of("\"learner.learning_rate\" = 1e-5\n" + least),
            "c.toml:1: unknown key \"learner.learning_rate\"; the nearest is "
            "learner.optimizer.learning_rate");
  EXPECT_EQ(error_of(least + "[sandbox]\n\"limits.call\" = \"2s\"\n"),
            "c.toml:8: unknown key sandbox.\"limits.call\"; the nearest is sandbox.limits.call");
  EXPECT_THAT(error_of(least + "[\"sandbox.limits\"]\ncall = \"2s\"\n"),
              HasSubstr("unknown table \"sandbox.limits\"; the nearest is sandbox.limits"));
}

TEST(RunConfigTest, NumericsAreStrictOrPaper) {
  EXPECT_EQ(error_of(least, {"sandbox.numerics=paper"}), "");
  EXPECT_THAT(error_of(least, {"sandbox.numerics=loose"}),
              HasSubstr("sandbox.numerics: expected one of \"strict\", \"paper\""));
}

TEST(RunConfigTest, LongOptionsAreQuotedOnlyInPart) {
  for (const char* key : {"run.seed=", "run seed="}) {
    const std::string error = error_of(least, {key + std::string(120'000, 'x')});
    EXPECT_THAT(error, HasSubstr("--set run"));
    EXPECT_LT(error.size(), 1000U);
  }
}

TEST(RunConfigTest, AMisspeltStageIsTheOnlyComplaint) {
  const std::string error = error_of(least, {"run.stage=stf", "model.weights=random"});
  EXPECT_THAT(error, HasSubstr("run.stage: expected one of "));
  EXPECT_THAT(error, HasSubstr("got string \"stf\"; the nearest is \"sft\""));
  EXPECT_THAT(error, Not(HasSubstr("\n")));
}

TEST(RunConfigTest, AScriptTogetherWithDataIsRefusedWithTheRemedy) {
  EXPECT_THAT(error_of(least, {"run.stage=sft", "sft.data=d.jsonl", "sft.script=s.py"}),
              HasSubstr("--set sft.script= clears"));
}

TEST(RunConfigTest, AMissingFileIsNamed) {
  const auto config = load_run_config("no/such.toml", {});
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().code, ErrorCode::not_found);
  EXPECT_EQ(config.error().message, "no/such.toml: no such file");
  EXPECT_EQ(load_run_config("/dev/zero", {}).error().message,
            "/dev/zero: expected a configuration file, found something that is not a regular file");
}

TEST(RunConfigTest, ToolsOfBackgroundJobsNeedEachOther) {
  EXPECT_THAT(error_of(least, {R"(agent.tools=["bash_output", "write", "submit"])"}),
              HasSubstr("expected \"bash\" with \"bash_output\""));
  EXPECT_THAT(error_of(least, {R"(agent.tools=["bash", "kill_bash", "write", "submit"])"}),
              HasSubstr("expected \"bash_output\" with \"kill_bash\""));
  EXPECT_EQ(error_of(least, {R"(agent.tools=["bash", "bash_output", "write", "submit"])"}), "");
  EXPECT_THAT(error_of(least, {"tool_executor.jobs=17"}), HasSubstr("tool_executor.jobs"));
}

TEST(RunConfigTest, SummariesAreForBrainsAndNeedRoom) {
  EXPECT_THAT(error_of(least, {"agent.summarise=true"}),
              HasSubstr("agent.summarise: expected false: a summary starts a new context"));
  std::vector<std::string> brain{"agent.summarise=true", "run.stage=collect", "brain.model=m",
                                 "brain.url=https://host/v1"};
  EXPECT_EQ(error_of(least, brain), "");
  brain.emplace_back("agent.max_tokens=4096");
  brain.emplace_back("generator.max_new_tokens=4000");
  EXPECT_THAT(error_of(least, brain), HasSubstr("agent.summary_share: expected a share"));
}

TEST(RunConfigTest, RandomWeightsAndScriptedTurnsGoTogether) {
  const std::string script = "agent.scripted_turns=[\"call\"]";
  EXPECT_EQ(error_of(least, {"model.weights=random", script}), "");
  EXPECT_THAT(error_of(least, {"model.weights=random"}), HasSubstr("model.weights"));
  EXPECT_THAT(error_of(least, {script}), HasSubstr("agent.scripted_turns: expected none unless"));
  EXPECT_THAT(error_of(least, {"model.weights=random", script, "run.stage=collect"}),
              HasSubstr("agent.scripted_turns: expected none unless"));
}

TEST(RunConfigTest, OffloadingNeedsAGpuAndSomethingToOffload) {
  const std::string kept = "learner.offload=[\"kept_prefixes\"]";
  EXPECT_THAT(error_of(least, {kept}),
              HasSubstr("learner.offload: expected [] with learner.device = \"cpu\""));
  EXPECT_EQ(error_of(least, {kept, "learner.device=cuda"}), "");
  EXPECT_THAT(error_of(least, {kept, "learner.device=cuda", "learner.forwards=at_use"}),
              HasSubstr("\"kept_prefixes\" needs learner.forwards = \"streamed\""));
  EXPECT_THAT(error_of(least, {"learner.offload=[\"weights\"]"}),
              HasSubstr("expected any of \"kept_prefixes\""));
}

}  // namespace
}  // namespace warpsmith

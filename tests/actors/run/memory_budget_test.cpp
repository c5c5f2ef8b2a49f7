// SPDX-License-Identifier: Apache-2.0
#include "actors/run/memory_budget.hpp"

#include <gmock/gmock.h>

#include "policy/format/hf_folder.hpp"

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t gib = int64_t{1} << 30;
constexpr int64_t h200 = 139 * gib;
constexpr int64_t h100 = 79 * gib;

/// The refusal on GPUs of these sizes; empty if the run fits.
std::string refusal_on(const std::vector<int64_t>& sizes, const std::vector<std::string>& overrides,
                       bool learns = true) {
  const auto config = load_run_config("configs/h200-128k.toml", overrides).value();
  const auto model = policy::read_hf_config(config.model.folder).value();
  const auto fits = check_gpus(config, memory_budget(config, model, learns), sizes);
  return fits ? "" : fits.error().message;
}

std::string refusal(int64_t total, const std::vector<std::string>& overrides) {
  return refusal_on({total}, overrides);
}

TEST(MemoryBudgetTest, TheLongRunFitsAnH200) {
  EXPECT_EQ(refusal(h200, {}), "");
  EXPECT_THAT(refusal(h200, {"learner.offload=[]", "learner.max_held=20GiB"}),
              HasSubstr("GPU 0 has 139 GiB"));
}

TEST(MemoryBudgetTest, TheLongRunFitsAnH100WithTheSettingsOfItsDocument) {
  EXPECT_EQ(refusal(h100, {"learner.critic.kind=shared", "rollout.concurrent=1",
                           "generator.cache_tokens=131072"}),
            "");
}

TEST(MemoryBudgetTest, ARefusalNamesTheSettingToLower) {
  EXPECT_THAT(refusal(h100, {}), HasSubstr("learner.critic.kind = \"shared\""));
  EXPECT_THAT(refusal(h100, {}), Not(HasSubstr("add \"layer_inputs\"")));
  const std::string one = refusal(h200, {"learner.max_held=50GiB"});
  EXPECT_THAT(one, HasSubstr("lower learner.max_held to at most "));
}

TEST(MemoryBudgetTest, FewerTokensAreNotSuggestedIfTheParametersDoNotFit) {
  const std::string whole = refusal(20 * gib, {"learner.loss.kl=0.1"});
  for (const char* part :
       {"the parameters alone do not fit: ", "set learner.critic.kind = \"shared\"",
        "(learner.lora.rank)", "learner.loss.kl = 0", "(learner.gpus with", "(model.folder)"}) {
    EXPECT_THAT(whole, HasSubstr(part));
  }
  for (const char* part : {"max_tokens", "max_held", "cache_tokens", "offload"}) {
    EXPECT_THAT(whole, Not(HasSubstr(part)));
  }
  const std::vector<std::string> least{"learner.critic.kind=shared", "learner.lora.rank=8"};
  EXPECT_THAT(refusal(4 * gib, least),
              HasSubstr("the parameters alone do not fit: use a smaller model"));
}

TEST(MemoryBudgetTest, EveryRankNeedsAGpuWithRoomForIt) {
  const std::vector<std::string> two{"learner.gpus=2", "learner.forwards=at_use",
                                     "learner.offload=[\"layer_inputs\"]"};
  EXPECT_EQ(refusal_on({h200, h200}, two), "");
  EXPECT_THAT(refusal_on({h200, 20 * gib}, two), HasSubstr("learner.gpu: GPU 1 has 20 GiB"));
  EXPECT_THAT(refusal_on({h200, 20 * gib}, two), HasSubstr("kept prefixes 0 B"));
  EXPECT_THAT(refusal_on({h200}, two), HasSubstr("learner.gpu: expected less than 1"));
}

TEST(MemoryBudgetTest, AGeneratorOnASeparateGpuIsChecked) {
  const std::vector<std::string> apart{"generator.gpu=1"};
  EXPECT_EQ(refusal_on({h200, h100}, apart), "");
  EXPECT_THAT(refusal_on({h200, 2 * gib}, apart), HasSubstr("generator.gpu: GPU 1 has 2 GiB"));
  EXPECT_THAT(refusal_on({h200}, apart), HasSubstr("generator.gpu: expected less than 1"));
}

TEST(MemoryBudgetTest, WithoutALearnerOnlyTheGeneratorCounts) {
  EXPECT_EQ(refusal_on({h100}, {}, /*learns=*/false), "");
  const std::string big = refusal_on({h100}, {"generator.cache_tokens=2000000"}, false);
  EXPECT_THAT(big, HasSubstr("generator.gpu: GPU 0 has 79 GiB"));
  EXPECT_THAT(big, HasSubstr("lower generator.cache_tokens to at most "));
  EXPECT_THAT(big, Not(HasSubstr("learner")));
  EXPECT_EQ(refusal_on({}, {"generator.device=cpu"}, false), "");
}

TEST(MemoryBudgetTest, SandboxesThatShareTheGpuOfTheGeneratorCount) {
  EXPECT_NE(refusal_on({h100}, {"sandbox.count=100"}, false), "");
}

/// The refusal of a stage that learns from existing data, on the learner's GPU; empty if it fits.
std::string data_refusal(int64_t total, Stage stage, const std::vector<std::string>& overrides) {
  auto config = load_run_config("configs/h200-128k.toml", overrides).value();
  config.run.stage = stage;
  const auto model = policy::read_hf_config(config.model.folder).value();
  const auto fits = check_data_gpu(config, data_stage_memory(config, model), {total});
  return fits ? "" : fits.error().message;
}

TEST(DataMemoryTest, ASupervisedStageIsComparedWithItsGpu) {
  EXPECT_EQ(data_refusal(h100, Stage::sft, {}), "");
  const std::string small = data_refusal(20 * gib, Stage::sft, {});
  EXPECT_THAT(small, HasSubstr("learner.gpu: GPU 0 has 20 GiB, and the stage needs "));
  EXPECT_THAT(small, HasSubstr("the parameters alone do not fit: use a smaller model"));
  EXPECT_THAT(
      data_refusal(h100, Stage::rft,
                   {"sft.context=1000000", "sft.batch_tokens=1000000", "learner.offload=[]"}),
      HasSubstr("lower sft.context and sft.batch_tokens, or add \"layer_inputs\""));
}

TEST(DataMemoryTest, ASharedCriticIsSuggestedInsteadOfASeparateOne) {
  EXPECT_THAT(data_refusal(40 * gib, Stage::value, {}),
              HasSubstr("set learner.critic.kind = \"shared\""));
  EXPECT_EQ(data_refusal(40 * gib, Stage::value, {"learner.critic.kind=shared"}), "");
}

}  // namespace
}  // namespace warpsmith::actors

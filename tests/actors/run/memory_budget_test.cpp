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

/// The end of the refusal; empty if the run fits.
std::string refusal(int64_t total, const std::vector<std::string>& overrides) {
  const auto config = load_run_config("configs/h200-128k.toml", overrides).value();
  const auto model = policy::read_hf_config(config.model.folder).value();
  const auto fits = check_learner_gpu(config, memory_budget(config, model), total);
  return fits ? "" : fits.error().message;
}

TEST(MemoryBudgetTest, TheLongRunFitsAnH200) {
  EXPECT_EQ(refusal(h200, {}), "");
  EXPECT_THAT(refusal(h200, {"learner.offload=[]", "learner.max_held=20GiB"}),
              HasSubstr("GPU 0 has 139.0 GiB"));
}

TEST(MemoryBudgetTest, TheLongRunFitsAnH100WithTheSettingsOfItsDocument) {
  EXPECT_EQ(refusal(h100, {"learner.critic.kind=shared", "rollout.concurrent=1",
                           "generator.cache_tokens=131072"}),
            "");
}

TEST(MemoryBudgetTest, ARefusalNamesTheNumberToLower) {
  EXPECT_THAT(refusal(h100, {}), HasSubstr("learner.critic.kind = \"shared\""));
  EXPECT_THAT(refusal(h100, {}), Not(HasSubstr("add \"layer_inputs\"")));
  const std::string one = refusal(h200, {"learner.max_held=50GiB"});
  EXPECT_THAT(one, HasSubstr("lower learner.max_held to at most "));
}

}  // namespace
}  // namespace warpsmith::actors

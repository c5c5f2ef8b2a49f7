// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FurtherBaselinesTest, AreFoundByNameEachOnce) {
  const auto both = further_baselines_named({"cuda-graph", "max-autotune", "cuda-graph"});
  ASSERT_TRUE(both);
  EXPECT_THAT(*both, ElementsAre(Baseline::tuned, Baseline::graphed));
  for (const char* other : {"torch.compile", "eager", "", "auto"}) {
    const auto refused = further_baselines_named({"max-autotune", other});
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(std::string{"got \""} + other + '"'));
  }
}

TEST(FurtherBaselinesTest, ADroppedOneKeepsItsFirstReason) {
  FurtherBaselines further({Baseline::tuned, Baseline::graphed});
  EXPECT_THAT(further.left(), ElementsAre(Baseline::tuned, Baseline::graphed));
  further.drop(Baseline::tuned, "it was not ready within 75 s");
  further.drop(Baseline::tuned, "another");
  EXPECT_FALSE(further.has(Baseline::tuned));
  EXPECT_THAT(further.left(), ElementsAre(Baseline::graphed));
  EXPECT_EQ(further.reason(Baseline::tuned), "it was not ready within 75 s");
  EXPECT_EQ(further.reason(Baseline::graphed), "");
  EXPECT_THAT(further.wanted(), ElementsAre(Baseline::tuned, Baseline::graphed));
}

TEST(FurtherBaselinesTest, ASecondWorkerThatEndsDropsTheBaseline) {
  FurtherBaselines further({Baseline::tuned, Baseline::graphed});
  further.worker_ended(Baseline::tuned, "signal 9");
  further.worker_ended(Baseline::graphed, "signal 9");
  EXPECT_THAT(further.left(), ElementsAre(Baseline::tuned, Baseline::graphed));
  further.worker_ended(Baseline::tuned, "exit code 7");
  EXPECT_THAT(further.left(), ElementsAre(Baseline::graphed));
  EXPECT_EQ(further.reason(Baseline::tuned), "exit code 7");
}

TEST(FurtherBaselinesTest, AnUnwantedOneIsAbsent) {
  const FurtherBaselines further({Baseline::graphed});
  EXPECT_FALSE(further.has(Baseline::tuned));
  EXPECT_THAT(FurtherBaselines().left(), IsEmpty());
}

}  // namespace
}  // namespace warpsmith::sandbox

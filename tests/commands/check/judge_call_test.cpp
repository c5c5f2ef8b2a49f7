// SPDX-License-Identifier: Apache-2.0
#include "commands/check/judge_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(JudgeCallTest, UnstableTimesComeWithWhatToDo) {
  const auto noisy = std::get<InfraFailure>(with_advice(InfraFailure{InfraKind::noise, "noisy"}));
  EXPECT_THAT(noisy.detail, StartsWith("noisy\n"));
  EXPECT_THAT(noisy.detail, HasSubstr("end other work on this machine and check again"));
  EXPECT_THAT(noisy.detail, HasSubstr("--verify-only"));
}

TEST(JudgeCallTest, OtherJudgementsStayAsTheyAre) {
  const auto late = std::get<InfraFailure>(with_advice(InfraFailure{InfraKind::deadline, "late"}));
  EXPECT_EQ(late.detail, "late");
  EXPECT_TRUE(std::holds_alternative<Verdict>(with_advice(Verdict{})));
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/early_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

StepReport healthy() {
  StepReport report;
  report.tokens.entropy = 0.5;
  report.tokens.explained_variance = 0.3;
  report.tokens.unlikely_ratio = 2;
  report.outcomes.truncated = 0.1;
  return report;
}

/// Fed with healthy steps until every sign can be judged.
EarlyWarnings settled(const WarningsConfig& config = {}) {
  EarlyWarnings watch{config};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(watch.observe(healthy()), IsEmpty());
  return watch;
}

/// The warnings after `steps` steps in a row like `report`.
std::vector<Warning> after(int steps, const StepReport& report, const WarningsConfig& config = {}) {
  EarlyWarnings watch = settled(config);
  std::vector<Warning> in_force;
  for (int i = 0; i < steps; ++i) in_force = watch.observe(report);
  return in_force;
}

TEST(EarlyWarningsTest, ASignMustLastForPatienceSteps) {
  StepReport report = healthy();
  report.tokens.entropy = 0.2;
  EXPECT_THAT(after(2, report), IsEmpty());
  EXPECT_THAT(after(3, report), ElementsAre(Warning::entropy_falls));
}

TEST(EarlyWarningsTest, EachSignHasItsWarning) {
  StepReport report = healthy();
  report.tokens.entropy = 0.9;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::entropy_rises));
  report = healthy();
  report.tokens.explained_variance = -0.1;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::critic_is_no_help));
  report = healthy();
  report.outcomes.truncated = 0.6;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::answers_are_cut));
  report = healthy();
  report.tokens.unlikely_ratio = 11;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::unlikely_ratios));
}

TEST(EarlyWarningsTest, ALastingFallStaysAWarning) {
  StepReport report = healthy();
  report.tokens.entropy = 0.2;
  EXPECT_THAT(after(30, report), Contains(Warning::entropy_falls))
      << "the odd steps must not become the mean";
}

TEST(EarlyWarningsTest, AHealthyStepEndsAWarning) {
  EarlyWarnings watch = settled();
  StepReport report = healthy();
  report.outcomes.truncated = 0.9;
  for (int i = 0; i < 5; ++i) (void)watch.observe(report);
  EXPECT_THAT(watch.observe(healthy()), Not(Contains(Warning::answers_are_cut)));
}

TEST(EarlyWarningsTest, ANewCriticIsNotJudgedYet) {
  EarlyWarnings watch{WarningsConfig{}};
  StepReport report = healthy();
  report.tokens.explained_variance = -3;
  for (int i = 0; i < 8; ++i) EXPECT_THAT(watch.observe(report), IsEmpty());
}

TEST(EarlyWarningsTest, EachSignCanBeSwitchedOff) {
  WarningsConfig off;
  off.entropy_change = 0;
  off.explained_variance = -1000;
  off.truncated = 1;
  off.ratio = 0;
  StepReport report;
  report.tokens = {.unlikely_ratio = 1e9, .entropy = 0, .explained_variance = -9};
  report.outcomes.truncated = 1;
  EXPECT_THAT(after(5, report, off), IsEmpty());
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/mutation_gate.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

TEST(MutationGateTest, OneSetThatCatchesAMutantSuffices) {
  MutantTrial trial{.name = "zeros"};
  record_trial(trial, {.worst = 0.2, .elements = 4});
  EXPECT_FALSE(trial.caught);
  record_trial(trial, {.worst = 3, .wrong = 1, .elements = 4});
  record_trial(trial, {.worst = 0.1, .elements = 4});
  EXPECT_TRUE(trial.caught);
  EXPECT_EQ(trial.worst, 3);
  EXPECT_EQ(names_uncaught({trial}), "");
}

TEST(MutationGateTest, NamesEveryMutantThatWouldPass) {
  const std::vector<MutantTrial> trials{{.name = "zeros", .applies = true, .caught = true},
                                        {.name = "bf16", .applies = true, .worst = 0.875},
                                        {.name = "identity"},
                                        {.name = "first_row", .applies = true},
                                        {.name = "bias", .applies = true, .without_effect = true}};
  EXPECT_EQ(names_uncaught(trials), "bf16 (0.88 of the bound), first_row (0 of the bound)");
}

TEST(MutationGateTest, OnlyAMutantThatRoundingHidesOnEverySetIsLost) {
  MutantTrial hidden{.name = "short", .applies = true, .lost = true};
  record_exact(hidden, {.worst = 0.9, .elements = 4});
  record_exact(hidden, {.worst = 1.2, .wrong = 1, .elements = 4});
  EXPECT_TRUE(hidden.lost);
  MutantTrial shown{.name = "tail", .applies = true, .worst = 0.3, .lost = true};
  record_exact(shown, {.worst = 40, .wrong = 1, .elements = 4});
  record_exact(shown, {.worst = 0.3, .elements = 4});
  EXPECT_FALSE(shown.lost);
  EXPECT_EQ(names_uncaught({hidden, shown}), "tail (0.3 of the bound)");
}

TEST(MutationGateTest, ALostMutantMayBeCaughtAndAFullPrecisionOneIsNeverLost) {
  MutantTrial lost{.name = "short", .applies = true, .lost = true};
  EXPECT_TRUE(any_uncaught({lost}));
  std::vector<MutantTrial> trials{lost};
  drop_lost(trials);
  EXPECT_FALSE(any_uncaught(trials));
  EXPECT_FALSE(any_uncaught({{.name = "identity", .lost = true}}));
  MutantTrial full{.name = "short", .applies = true, .worst = 0.1};
  record_exact(full, {.worst = 0.1, .elements = 4});
  EXPECT_EQ(names_uncaught({full}), "short (0.1 of the bound)");
}

TEST(MutationGateTest, IgnoresSetsOnWhichAMutantIsRight) {
  const MutantTrial unseen{.name = "short", .applies = true};
  EXPECT_TRUE(uncaught_never_differed({unseen, {.name = "identity"}}));
  EXPECT_TRUE(uncaught_never_differed(
      {unseen, {.name = "bf16", .applies = true, .caught = true, .worst = 3}}));
  EXPECT_FALSE(uncaught_never_differed({unseen, {.name = "tail", .applies = true, .worst = 0.3}}));
}

TEST(MutationGateTest, RecognisesMutantsThatDifferByChance) {
  const auto differed = [](int seen) {
    return std::vector<MutantTrial>{{.name = "short", .applies = true, .worst = 0.4, .seen = seen}};
  };
  EXPECT_TRUE(uncaught_seldom_differ(differed(0), 9));
  EXPECT_TRUE(uncaught_seldom_differ(differed(4), 9));
  EXPECT_FALSE(uncaught_seldom_differ(differed(5), 9));
  EXPECT_TRUE(
      uncaught_seldom_differ({{.name = "caught", .applies = true, .caught = true, .seen = 9}}, 9));
}

}  // namespace
}  // namespace warpsmith::sandbox

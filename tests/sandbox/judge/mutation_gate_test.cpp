// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/mutation_gate.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

TEST(MutationGateTest, OneSetThatCatchesAMutantIsEnough) {
  MutantTrial trial{.name = "zeros"};
  record_trial(trial, {.worst = 0.2, .elements = 4});
  EXPECT_FALSE(trial.caught);
  record_trial(trial, {.worst = 3, .wrong = 1, .elements = 4});
  record_trial(trial, {.worst = 0.1, .elements = 4});
  EXPECT_TRUE(trial.caught);
  EXPECT_EQ(trial.worst, 3);
  EXPECT_EQ(quarantine_reason({trial}), "");
}

TEST(MutationGateTest, NamesEveryMutantThatWouldPass) {
  const std::vector<MutantTrial> trials{{.name = "zeros", .applies = true, .caught = true},
                                        {.name = "bf16", .applies = true},
                                        {.name = "identity"},
                                        {.name = "first_row", .applies = true}};
  EXPECT_EQ(quarantine_reason(trials), "mutation gate: wrong answers would pass: bf16, first_row");
}

}  // namespace
}  // namespace warpsmith::sandbox

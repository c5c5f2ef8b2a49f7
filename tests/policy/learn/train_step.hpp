// SPDX-License-Identifier: Apache-2.0
// A trainer of the tiny model, and one step of it on given trajectories.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "policy/learn/trainer.hpp"
#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {

inline Trainer trainer_of(const TrainerSetup& setup) {
  return {setup, tiny_config(), tiny_weights(1)};
}

/// Trains on those trajectories; the report of the step that they complete.
inline StepReport train(Trainer& trainer, const std::vector<Trajectory>& played) {
  for (const Trajectory& one : played) {
    for (const Segment& segment : one.segments) EXPECT_TRUE(trainer.observe(segment));
    EXPECT_TRUE(trainer.close(one.id, one.outcome));
  }
  std::optional<StepReport> report;
  while (trainer.has_work()) {
    Progress progress = trainer.advance();
    if (progress.step) report = std::move(progress.step);
  }
  return report.value();
}

}  // namespace warpsmith::policy

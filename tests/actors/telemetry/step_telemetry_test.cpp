// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry/step_telemetry.hpp"

#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

Observation seen(double alive, double busy, double tokens) {
  return {"generator-0",
          {{"alive_s", alive}, {"busy_s", busy}, {"queued", 3}, {"sampled_tokens", tokens}},
          {}};
}

TEST(StepTelemetryTest, EveryStepGetsTheIncreaseSinceTheLastOne) {
  StepTelemetry telemetry;
  telemetry.observe(seen(10, 5, 100));
  (void)telemetry.take();
  telemetry.observe(seen(11, 6, 110));
  telemetry.observe(seen(14, 6, 180));
  const auto step = telemetry.take();
  EXPECT_EQ(step.at("generator-0.idle"), 0.75);
  EXPECT_EQ(step.at("generator-0.queued"), 3);
  EXPECT_EQ(step.at("generator-0.tokens_per_s"), 20);
}

TEST(StepTelemetryTest, ActorsWithoutANewObservationAreLeftOut) {
  StepTelemetry telemetry;
  telemetry.observe(seen(10, 5, 100));
  (void)telemetry.take();
  EXPECT_TRUE(telemetry.take().empty());
}

TEST(StepTelemetryTest, RestartedActorCountsFromZero) {
  StepTelemetry telemetry;
  telemetry.observe(seen(10, 5, 100));
  (void)telemetry.take();
  telemetry.observe(seen(2, 1, 50));
  const auto step = telemetry.take();
  EXPECT_EQ(step.at("generator-0.idle"), 0.5);
  EXPECT_EQ(step.at("generator-0.tokens_per_s"), 25);
}

}  // namespace
}  // namespace warpsmith::actors

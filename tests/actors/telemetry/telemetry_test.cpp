// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry/telemetry.hpp"

#include "tests/support/actor_test.hpp"

namespace warpsmith::actors {
namespace {

class TelemetryTest : public ActorTest {
 protected:
  TelemetryActor actor = sys.spawn(telemetry, identity("telemetry"));
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    deliver_all();
  }
};

TEST_F(TelemetryTest, SnapshotHasTheLatestValueOfEverySource) {
  self->send(actor, Observation{"learner", {{"reward", 0.5}}, {}});
  self->send(actor, Observation{"learner", {{"reward", 0.75}}, {}});
  self->send(actor, Observation{"generator-0", {{"tokens", 12}}, {{"phase", "decoding"}}});
  const auto seen = ask<Observation>(actor, atom::snapshot_v);
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_EQ(seen->values.at("learner.reward"), 0.75);
  EXPECT_EQ(seen->values.at("generator-0.tokens"), 12);
  EXPECT_EQ(seen->texts.at("generator-0.phase"), "decoding");
}

TEST_F(TelemetryTest, StatusCountsHandledMessages) {
  self->send(actor, Observation{"learner", {{"reward", 0.5}}, {}});
  const auto status = ask<ActorStatus>(actor, atom::status_v);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  EXPECT_EQ(status->name, "telemetry");
  EXPECT_EQ(status->handled, 2U);
}

}  // namespace
}  // namespace warpsmith::actors

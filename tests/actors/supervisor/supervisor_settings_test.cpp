// SPDX-License-Identifier: Apache-2.0
#include "actors/supervisor/supervisor.hpp"

#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using std::chrono::seconds;

TEST(SupervisorSettingsTest, TheLastCheckpointMayTakeAsLongAsASlowDiskNeeds) {
  RunConfig config;
  config.supervisor.stop_timeout = seconds{60};
  EXPECT_EQ(supervisor_settings(config, 0).checkpoint_timeout, seconds{60});
  EXPECT_EQ(supervisor_settings(config, 41'000'000'000).checkpoint_timeout, seconds{470});
}

}  // namespace
}  // namespace warpsmith::actors

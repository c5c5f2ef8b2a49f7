// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composer_settings.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::actors {
namespace {

nlohmann::json origin_of(const RunConfig& config) {
  return nlohmann::json::parse(composing_origin(config));
}

TEST(ComposerSettingsTest, WhatIsNotSetIsNoPartOfTheOrigin) {
  const auto origin = origin_of({});
  EXPECT_EQ(origin.size(), 5U) << "a run of an earlier version goes on: " << origin;
}

TEST(ComposerSettingsTest, WhatDecidesTheTasksIsPartOfTheOrigin) {
  RunConfig config;
  ComposeConfig& compose = config.synthesis.compose;
  compose.shares = "2=1";
  compose.compile = ComposeCompiler::aot_eager;
  compose.min_ms = 0.5;
  compose.max_ms = 9;
  const auto origin = origin_of(config);
  EXPECT_EQ(origin["shares"], "2=1");
  EXPECT_EQ(origin["compile"], "aot_eager");
  EXPECT_EQ(origin["window"], nlohmann::json({0.5, 9}));
}

}  // namespace
}  // namespace warpsmith::actors

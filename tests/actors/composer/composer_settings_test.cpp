// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "actors/generator/generator.hpp"

namespace warpsmith::actors {
namespace {

nlohmann::json origin_of(const RunConfig& config) {
  return nlohmann::json::parse(composing_origin(config));
}

TEST(ComposerSettingsTest, UnsetKeysAreNotPartOfTheOrigin) {
  const auto origin = origin_of({});
  EXPECT_EQ(origin.size(), 5U) << "a run of an earlier version continues: " << origin;
}

RunConfig with_endpoint() {
  RunConfig config;
  config.synthesis.count = 1;
  config.synthesis.compose.composer = ComposerKind::llm;
  config.synthesis.compose.url = "http://h/v1";
  config.synthesis.compose.model = "m";
  config.synthesis.compose.key_env = "NO_SUCH_VARIABLE";
  return config;
}

TEST(ComposerSettingsTest, TheWorkerGetsTheEndpointAndOnlyTheNameOfTheKey) {
  const auto settings = composer_settings(with_endpoint(), "python", "/tmp", 0);
  const nlohmann::json expected{
      {"url", "http://h/v1"}, {"model", "m"}, {"seconds", 120.0}, {"key_env", "NO_SUCH_VARIABLE"}};
  EXPECT_EQ(nlohmann::json::parse(settings.worker.settings)["llm"], expected);
  const auto origin = origin_of(with_endpoint());
  EXPECT_EQ(origin["model"], nlohmann::json({"http://h/v1", "m"}));
  EXPECT_EQ(origin["composer"], "llm");
}

TEST(ComposerSettingsTest, AComposingPolicyHasASessionForEachComposer) {
  RunConfig config = with_endpoint();
  EXPECT_EQ(generator_settings(config, {}, {}).engine.max_sessions, config.generator.max_sessions);
  config.synthesis.compose.url.clear();
  config.synthesis.compose.nodes = {"ssh far"};
  EXPECT_EQ(generator_settings(config, {}, {}).engine.max_sessions,
            config.generator.max_sessions + 2);
  const auto settings = composer_settings(config, "python", "/tmp", 0);
  EXPECT_EQ(nlohmann::json::parse(settings.worker.settings)["llm"], nlohmann::json::object());
}

TEST(ComposerSettingsTest, AMissingKeyIsNamedBeforeTheRun) {
  const auto checked = check_composer(with_endpoint());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "synthesis.compose.key_env: the environment variable NO_SUCH_VARIABLE is not set; "
            "export it with the endpoint's key");
  RunConfig none = with_endpoint();
  none.synthesis.disable_composers();
  EXPECT_TRUE(check_composer(none));
}

TEST(ComposerSettingsTest, SettingsThatDetermineTheTasksArePartOfTheOrigin) {
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

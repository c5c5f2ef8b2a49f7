// SPDX-License-Identifier: Apache-2.0
#include "commands/baselines_option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "commands/slots.hpp"

namespace warpsmith::commands {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The further baselines that the option selects, or the error.
std::vector<std::string> timed(const std::string& words, const std::string& contract = "device") {
  CLI::App app;
  std::string folder;
  std::vector<std::string> names{"auto"};
  app.add_option("DIR", folder);
  add_baselines_option(app, names);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return {error.what()};
  }
  SandboxConfig config;
  config.contract = contract;
  config.baselines = selected_baselines(names);
  const auto valid = valid_slots(config);
  return valid ? further_baselines(config) : std::vector{valid.error().message};
}

TEST(BaselinesOptionTest, DefaultsToAllOnGpusAndNoneOnCpus) {
  EXPECT_THAT(timed(""), ElementsAre("max-autotune", "cuda-graph"));
  EXPECT_THAT(timed("", "cpu"), IsEmpty());
}

TEST(BaselinesOptionTest, TakesNamesOrNoneButNoFollowingArgument) {
  EXPECT_THAT(timed("--baselines cuda-graph DIR"), ElementsAre("cuda-graph"));
  EXPECT_THAT(timed("--baselines max-autotune,cuda-graph DIR"),
              ElementsAre("max-autotune", "cuda-graph"));
  EXPECT_THAT(timed("DIR --baselines none"), IsEmpty());
  EXPECT_THAT(timed("--baselines none", "cpu"), IsEmpty());
}

TEST(BaselinesOptionTest, RefusesUnknownBaselinesAndThoseOfGpusOnACpu) {
  EXPECT_THAT(timed("--baselines fast"), ElementsAre(HasSubstr("fast")));
  EXPECT_THAT(timed("--baselines none,cuda-graph"),
              ElementsAre(HasSubstr(
                  "expected \"auto\", \"max-autotune\" or \"cuda-graph\", got \"none\"")));
  EXPECT_THAT(timed("--baselines cuda-graph", "cpu"),
              ElementsAre(HasSubstr("a slot on a CPU core times only eager and torch.compile")));
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/run_summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

RunListing listing(const char* folder, std::optional<int> owner, Result<RunSummary> summary) {
  RunPaths paths;
  paths.folder = folder;
  return {.paths = paths, .owner = owner, .summary = std::move(summary)};
}

TEST(RunSummaryTest, AListingHasFiguresOrTheError) {
  RunSummary figures;
  figures.admitted = 7;
  const std::string text = listing_json(
      {listing("runs/a", 12, figures),
       listing("runs/b", std::nullopt, fail(ErrorCode::not_found, "no database")),
       listing("runs/\xff", std::nullopt, fail(ErrorCode::corrupt, "not a database"))});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto list = nlohmann::json::parse(text);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["admitted"], 7);
  EXPECT_EQ(list[0]["running"], true);
  EXPECT_EQ(list[0]["reward_last128"], nullptr);
  EXPECT_EQ(list[1], (nlohmann::json{{"run", "runs/b"}, {"running", false}}));
  EXPECT_EQ(list[2]["error"], "not a database");
  EXPECT_FALSE(list[2].contains("admitted"));
}

TEST(RunSummaryTest, NoRunsAreAnEmptyArray) {
  EXPECT_EQ(listing_json({}), "[]");
}

}  // namespace
}  // namespace warpsmith::commands

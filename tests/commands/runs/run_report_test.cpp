// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/run_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

TEST(RunPageTest, ShowsFiguresCurvesAndEvents) {
  RunPage page{.name = "runs/one", .state = RunState::running};
  page.summary.admitted = 1234;
  page.summary.trained = 1100;
  page.summary.in_flight = 34;
  page.summary.dropped = {{"stale", 60}, {"too_long", 40}};
  page.summary.last_step = 35;
  page.summary.durable_step = 30;
  page.summary.incarnations = 2;
  page.summary.wall_s = 570.4;
  page.summary.reward_first = 0.69;
  page.summary.reward_last = 1.77;
  page.summary.pass_rate_last = 0.89;
  page.summary.fast_eager_last = 0.5;
  page.summary.median_tool_calls_last = 2;
  page.summary.distinct_sources_last = 1;
  page.summary.open = 4;
  page.summary.closed = 30;
  page.summary.tokens = 1'234'567;
  page.summary.action_tokens = 999;
  page.summary.memory_peak = 98.5 * (1 << 30);
  page.summary.memory_plan = 100.0 * (1 << 30);
  page.summary.started_at = "2026-01-31T12:00:00.000Z";
  page.composed = "6 accepted of 10 candidates; rejected: 4 too_fast";
  page.curve = {{-1, 0}, {0.5, 0.5}, {2, 1}};
  page.events = {{{"12:00", "restart", "generator/0", "it \x1b[31mended"}}, 7};
  EXPECT_EQ(page_text(page),
            "run           runs/one, running\n"
            "started       2026-01-31T12:00:00.000Z, 570 s in 2 starts\n"
            "trajectories  1,234 admitted: 1,100 trained, 100 dropped (stale 60, too_long 40), "
            "34 in flight (4 running, 30 to be trained)\n"
            "steps         35, 30 of them in a checkpoint\n"
            "reward        0.69 in the first 128, 1.77 in the last 128\n"
            "              ▁▅█  -1.00 to 2.00\n"
            "correct       89 % of the last 128\n"
            "              ▁▅█  0 to 100 %\n"
            "faster        50 % than eager, - than torch.compile, of the last 128\n"
            "tool calls    2.0 in the median; 1 distinct source in the last 128\n"
            "tokens        1,234,567, 999 of them sampled\n"
            "composed      6 accepted of 10 candidates; rejected: 4 too_fast\n"
            "memory        98.5 GiB of tensors on the learner's GPU at most, 100 GiB planned\n"
            "\nnewest events, without 7 older ones\n"
            "  12:00  restart  generator/0  it \\x1b[31mended\n");
}

TEST(RunPageTest, AnEvaluationTrainsNothing) {
  RunPage page{.name = "runs/eval"};
  RunSummary& s = page.summary;
  s.admitted = 4;
  s.closed = s.in_flight = 3;
  s.dropped = {{"no_answer", 1}};
  s.dropped_why = {{"no_answer", "no recorded solution for task sum"}};
  s.learns = false;
  const std::string text = page_text(page);
  EXPECT_NE(text.find("trajectories  4 admitted: 3 judged, 1 dropped (no_answer 1), 0 running\n"
                      "              no_answer, the newest: no recorded solution for task sum\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("train"), std::string::npos) << text;
  EXPECT_EQ(text.find("steps"), std::string::npos) << text;
}

TEST(RunPageTest, FiguresThatWereNotMeasuredAreDashes) {
  const std::string text = page_text({.name = "new"});
  EXPECT_NE(text.find("reward        - in the first 128, - in the last 128\n"), std::string::npos);
  EXPECT_NE(text.find("correct       - of the last 128\n"), std::string::npos);
  EXPECT_NE(text.find("events        none\n"), std::string::npos);
  EXPECT_EQ(text.find("▁"), std::string::npos);
}

TEST(RunPageTest, FewRewardsHaveOneMean) {
  RunSummary few;
  few.trained = 8;
  few.reward_first = few.reward_last = 0.575342;
  EXPECT_EQ(rewards_text(few), "0.58, the mean of 8");
  few.closed = 121;
  EXPECT_EQ(rewards_text(few), "0.58 in the first 128, 0.58 in the last 128");
}

TEST(RunPageTest, SparklinesStayWithinTheirBlocks) {
  EXPECT_EQ(sparkline({-9, 0, 0.49, 0.5, 1, 9}, 0, 1), "▁▁▄▅██");
  EXPECT_EQ(sparkline({3, 3}, 3, 3), "▁▁");
}

RunListing listing(const char* folder, std::optional<int> owner, Result<RunSummary> summary) {
  RunPaths paths;
  paths.folder = folder;
  const RunState state = owner ? RunState::running : RunState::killed;
  return {.paths = paths,
          .owner = owner,
          .summary = std::move(summary),
          .status = {state, "2026-01-31T12:34:56.789Z"}};
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
  EXPECT_EQ(list[0]["state"], "running");
  EXPECT_EQ(list[1], (nlohmann::json{{"run", "runs/b"},
                                     {"running", false},
                                     {"state", "killed"},
                                     {"started_at", "2026-01-31T12:34:56.789Z"}}));
  EXPECT_EQ(list[2]["error"], "not a database");
  EXPECT_FALSE(list[2].contains("admitted"));
}

TEST(RunSummaryTest, NoRunsAreAnEmptyArray) {
  EXPECT_EQ(listing_json({}), "[]");
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/random_stream.hpp"
#include "runtime/run/run_database.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

const std::string printed =
    R"({"by_task":{"a":{"rewards":[1,-1.0,3],"passed":[1,0,1]},"b":{"mean_reward":2,"rewards":[2]}},"tasks":2})";

TEST(EvalReportTest, RewardsOfAnEarlierEvaluationAreReadByTask) {
  const auto read = parse_eval_outcomes(printed);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->rewards.at("a"), (std::vector<double>{1, -1, 3}));
  EXPECT_EQ(read->rewards.at("b"), std::vector<double>{2});
  EXPECT_EQ(read->passed, (ValuesByTask{{"a", {1, 0, 1}}})) << "b's report has none";
}

TEST(EvalReportTest, MissingOrWrongKeysAreNamed) {
  const auto message = [](std::string_view text) {
    const auto rewards = parse_eval_outcomes(text);
    return rewards ? std::string{} : rewards.error().message;
  };
  EXPECT_NE(message("{").find("by_task"), std::string::npos);
  EXPECT_NE(message(R"({"by_task":{"a":{}}})").find("by_task.a.rewards: expected a list"),
            std::string::npos);
  EXPECT_NE(message(R"({"by_task":{"a":{"rewards":["x"]}}})").find("got \"x\""), std::string::npos);
  const auto missing = read_eval_outcomes("/no/such/file.json");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("/no/such/file.json"), std::string::npos);
}

TEST(EvalReportTest, MutatedTextIsReadOrRefused) {
  RandomStream random{3, "eval_report_test"};
  for (int round = 0; round < 2000; ++round) {
    std::string text = printed;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    const auto rewards = parse_eval_outcomes(text);
    EXPECT_TRUE(rewards || !rewards.error().message.empty()) << text;
  }
}

VerdictRow passed(TrajectoryId id, double candidate_ms) {
  VerdictRow row{.trajectory = id, .turn = 1, .final = true, .verdict = {}};
  row.verdict.outcome = VerdictClass::passed;
  row.verdict.shapes.emplace_back().candidate_ms = candidate_ms;
  return row;
}

TEST(EvalReportTest, MissingSamplesAreCountedAndTimesAreMedians) {
  const auto folder = test_support::TemporaryFolder::in_memory();
  const RunPaths paths{folder.path()};
  auto db = RunDatabase::open(paths.database());
  ASSERT_TRUE(db) << db.error().message;
  ASSERT_TRUE(db->begin_incarnation(0));
  const Task task{.id = "a", .source = "file", .code = "class Model", .content_hash = "h"};
  ASSERT_TRUE(db->put_task(task));
  for (TrajectoryId id = 1; id <= 5; ++id) ASSERT_TRUE(db->put_admission(id, task, {1, 0}));
  for (TrajectoryId id = 1; id <= 3; ++id) {
    ASSERT_TRUE(db->put_outcome(id, {.reward = 1, .verdict = VerdictClass::passed}));
    ASSERT_TRUE(db->put_verdict(passed(id, static_cast<double>(id * id))));
  }
  ASSERT_TRUE(db->put_drop(4, DropReason::infrastructure, "lost"));
  const EvalOutcomes before{{{"a", {-1, 1}}}, {{"a", {0, 1}}}};
  const auto report = eval_report(paths, {.wanted = 5, .refused_tasks = 2}, before, true);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->samples, 3U);
  const auto out = nlohmann::json::parse(report->text);
  EXPECT_EQ(out["wanted"], 5);
  EXPECT_EQ(out["against"]["difference"], 1.0);
  EXPECT_EQ(out["against"]["pass_rate"]["difference"], 0.5);
  EXPECT_EQ(out["samples"], 3);
  EXPECT_EQ(out["dropped"], 1);
  EXPECT_EQ(out["dropped_newest"]["a"], "lost");
  EXPECT_EQ(report->dropped.at("a"), "lost");
  EXPECT_EQ(out["refused_tasks"], 2);
  EXPECT_EQ(out["by_task"]["a"]["times"]["candidate_ms"], 4.0);
  EXPECT_TRUE(out["by_task"]["a"]["times"]["eager_ms"].is_null());
}

TEST(EvalReportTest, MeansAreNullWithoutSamples) {
  const auto folder = test_support::TemporaryFolder::in_memory();
  const RunPaths paths{folder.path()};
  ASSERT_TRUE(RunDatabase::open(paths.database())->begin_incarnation(0));
  const auto report = eval_report(paths, {.wanted = 5, .refused_tasks = 0}, std::nullopt, true);
  ASSERT_TRUE(report) << report.error().message;
  const auto out = nlohmann::json::parse(report->text);
  EXPECT_EQ(out["samples"], 0);
  for (const char* key : {"mean_reward", "mean_reward_low", "mean_reward_high", "pass_rate",
                          "fast_eager", "fast_compile"}) {
    EXPECT_TRUE(out.at(key).is_null()) << key;
  }
}

}  // namespace
}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

SuitePlan plan_of(int64_t samples, const std::string& numerics = "strict") {
  SuitePlan plan{"/suite", samples, numerics, "cpu", {}, {}};
  plan.tasks = {{"a", "level1", "/suite/level1/a.py", "ha", "fp32-strict"},
                {"b", "level1", "/suite/level1/b.py", "hb", "fp32-strict"},
                {"c", "level2", "/suite/level2/c.py", "hc", "tf32-allowed"}};
  plan.broken = {{"level2", "/suite/level2/d.py", "a task needs `class Model`, \"found\" none"}};
  return plan;
}

SuiteSample passing(double eager, double compile) {
  SuiteSample sample{.outcome = "passed", .passed = true, .strict_passed = true, .trust = "commit"};
  sample.speedup_eager = Measured{eager, Interval{0.98 * eager, 1.02 * eager}};
  sample.speedup_compile = Measured{compile, Interval{0.98 * compile, 1.02 * compile}};
  return sample;
}

SuiteSample failed(const std::string& outcome) {
  return {.outcome = outcome, .trust = "commit", .feedback = outcome + ": why"};
}

const SuiteRow& row(const SuiteTable& table, SuiteScope scope, const std::string& name,
                    const std::string& numerics = "strict") {
  for (const SuiteRow& one : table.rows) {
    const std::string& its = scope == SuiteScope::level ? one.level : one.task;
    if (one.scope == scope && its == name && one.numerics == numerics) return one;
  }
  throw std::runtime_error("no row " + name);
}

TEST(SuiteFiguresTest, PassAtKIsTheUnbiasedEstimator) {
  EXPECT_NEAR(*pass_at_k(10, 3, 1), 0.3, 1e-12);
  EXPECT_NEAR(*pass_at_k(10, 3, 5), 1 - 21.0 / 252, 1e-12);  // C(7, 5) / C(10, 5)
  EXPECT_EQ(*pass_at_k(10, 0, 10), 0);
  EXPECT_EQ(*pass_at_k(10, 1, 10), 1);
  EXPECT_FALSE(pass_at_k(4, 2, 5));
}

TEST(SuiteFiguresTest, MedianIntervalLeavesAFortiethOnEachSide) {
  EXPECT_FALSE(median_interval({1, 2, 3, 4, 5}));
  EXPECT_EQ(median_interval({6, 5, 4, 3, 2, 1})->low, 1);
  const auto twelve = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(twelve->low, 3);  // P(X ≤ 2) = 0.0193, P(X ≤ 3) = 0.073
  EXPECT_EQ(twelve->high, 10);
}

TEST(SuiteFiguresTest, FastPCountsCorrectSamplesThatAreMoreThanPTimesAsFast) {
  SuiteRecords records;
  records.samples["a"] = {passing(2.5, 0.5), passing(1.0, 1.2)};
  records.samples["b"] = {passing(1.6, 1.6), failed("wrong")};
  records.samples["c"] = {failed("compile_error"), failed("wrong")};
  const SuiteTable table = suite_table(plan_of(2), records);
  const SuiteRow& level = row(table, SuiteScope::level, "level1");
  EXPECT_NEAR(*level.pass_rate, 0.75, 1e-12);
  EXPECT_NEAR(*level.eager.fast[1], 0.5, 1e-12);
  EXPECT_NEAR(*level.eager.fast[3], 0.25, 1e-12);
  EXPECT_NEAR(*level.eager.best_fast[1], 1, 1e-12);
  EXPECT_NEAR(*level.eager.geomean, std::cbrt(2.5 * 1.0 * 1.6), 1e-12);
  EXPECT_NEAR(*level.pass_at.at(2), 1, 1e-12);
  EXPECT_NEAR(*row(table, SuiteScope::all, "").pass_rate, 0.5, 1e-12);
  EXPECT_FALSE(row(table, SuiteScope::task, "c").eager.geomean);
  EXPECT_EQ(row(table, SuiteScope::task, "c").failures.at("wrong"), 1U);
  EXPECT_EQ(row(table, SuiteScope::task, "a").best->speedup_eager->value, 2.5);
}

TEST(SuiteFiguresTest, RefusedTasksAndBrokenFilesAreListedButNotCounted) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  records.refused["c"] = "mutation gate";
  const SuiteTable table = suite_table(plan_of(1), records);
  EXPECT_EQ(row(table, SuiteScope::refused, "c", "").reason, "mutation gate");
  EXPECT_EQ(row(table, SuiteScope::refused, "/suite/level2/d.py", "").level, "level2");
  EXPECT_EQ(row(table, SuiteScope::all, "").missing, 1U);  // of task b
  EXPECT_EQ(row(table, SuiteScope::all, "").pass_rate, 1);
}

TEST(SuiteFiguresTest, SharesAreEmptyIfNothingWasJudged) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  records.dropped["b"] = "no recorded solution for task b";
  SuiteReport report{"/runs/R", plan_of(1), {}, suite_table(plan_of(1), records)};
  report.one_core = true;
  const SuiteRow& level = row(report.table, SuiteScope::level, "level2");
  EXPECT_FALSE(level.pass_rate || level.eager.faster || level.compile.fast[0] ||
               level.eager.best_fast[3]);
  const std::string text = to_text(report);
  EXPECT_NE(text.find("\ncontract cpu times one core: "), std::string::npos) << text;
  EXPECT_NE(to_html(report, nullptr).find("contract cpu times one core: "), std::string::npos);
  const size_t line = text.find("level2, strict");
  EXPECT_EQ(text.substr(line, text.find('\n', line) - line).find("0.0"), std::string::npos) << text;
  EXPECT_NE(to_csv(report.table).find("\nlevel,level2,,strict,0,0,1,0,,,,"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(report));
  const auto& empty = json["rows"][4];  // behind all, level1, and their sensitive tasks
  EXPECT_EQ(empty["level"], "level2");
  EXPECT_TRUE(empty["pass_rate"].is_null()) << empty;
  EXPECT_TRUE(empty["eager"]["fast_p"][1]["share"].is_null());
}

SuiteReport report_of(SuitePlan plan, SuiteRecords records) {
  SuiteTable table = suite_table(plan, records);
  return {"/runs/R", std::move(plan), {}, std::move(table), std::move(records)};
}

/// An easier set of tasks must not look like progress.
TEST(SuiteComparisonTest, OnlyTasksThatBothJudgedAreCompared) {
  SuiteRecords easy;
  easy.samples["a"] = {passing(2, 2)};
  easy.samples["c"] = {passing(2, 2)};
  SuiteRecords all;
  all.samples = {{"a", {passing(3, 3)}}, {"b", {failed("wrong")}}, {"c", {failed("wrong")}}};
  SuitePlan changed = plan_of(1);
  changed.tasks[2].content_hash = "other";
  changed.tasks.push_back({"e", "level2", "/suite/level2/e.py", "he", "fp32-strict"});
  const SuiteReport before = report_of(plan_of(1), easy);
  const SuiteReport now = report_of(changed, all);
  const CommonTasks common = common_tasks(before, now);
  EXPECT_EQ(common.ids, std::set<std::string>{"a"});
  EXPECT_EQ(common.left_out,
            (std::vector<std::string>{"b: not judged in both", "c: its content has changed",
                                      "e: only in the evaluation now"}));
  EXPECT_EQ(common_tasks(now, before).left_out.back(), "e: only in the evaluation before");
  EXPECT_EQ(row(table_over(now, common), SuiteScope::all, "").pass_rate, 1);
  const std::string text = to_text(before, now);
  EXPECT_NE(text.find("left out: c: its content has changed\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("level2"), std::string::npos) << text;
}

TEST(SuiteComparisonTest, JsonAndPageContainTheComparison) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  SuiteReport before = report_of(plan_of(1), records);
  before.run = "/runs/EARLIER";
  before.stack.fields["gpu"] = "A";
  records.samples["a"] = {passing(3, 3)};
  SuiteReport now = report_of(plan_of(1), records);
  now.stack.fields["gpu"] = "B";
  const auto json = nlohmann::json::parse(to_json(now, &before));
  const auto& against = json.at("against");
  EXPECT_EQ(against.at("run"), "/runs/EARLIER");
  EXPECT_EQ(against.at("stack_differences"), nlohmann::json{"gpu: A before, B now"});
  EXPECT_EQ(against.at("tasks"), nlohmann::json{"a"});
  EXPECT_EQ(against.at("left_out").size(), 2U);
  EXPECT_NEAR(against.at("before")[0].at("eager").at("geomean"), 2, 1e-9);
  EXPECT_NEAR(against.at("now")[0].at("eager").at("geomean"), 3, 1e-9);
  EXPECT_FALSE(nlohmann::json::parse(to_json(now)).contains("against"));
  EXPECT_NE(to_html(now, &before).find("before: /runs/EARLIER"), std::string::npos);
}

TEST(SuiteFiguresTest, AMissingSampleHasItsTasksNameAndReason) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  records.samples["c"] = {failed("wrong")};
  records.dropped = {{"a", "lost once"}, {"b", "no recorded solution for task b"}};
  const SuiteReport report{"/runs/R", plan_of(1), {}, suite_table(plan_of(1), records)};
  EXPECT_EQ(row(report.table, SuiteScope::task, "a").reason, "") << "it is judged by now";
  EXPECT_EQ(row(report.table, SuiteScope::task, "b").reason, "no recorded solution for task b");
  const std::string text = to_text(report);
  EXPECT_NE(text.find("missing: b, 1 of 1: no recorded solution for task b\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("missing: a"), std::string::npos);
  EXPECT_EQ(text.find("RUN"), std::string::npos) << "a placeholder in place of a name";
  EXPECT_NE(to_html(report).find("missing 1"), std::string::npos);
}

TEST(SuiteFiguresTest, PaperHasASecondColumnForStrict) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  records.samples["a"][0].strict_passed = false;
  const SuiteTable table = suite_table(plan_of(1, "paper"), records);
  EXPECT_EQ(row(table, SuiteScope::task, "a", "paper").correct, 1U);
  EXPECT_EQ(row(table, SuiteScope::task, "a", "strict").correct, 0U);
  EXPECT_EQ(row(table, SuiteScope::task, "a", "strict").failures.at("not_strict"), 1U);
}

TEST(SuitePlanTest, LevelsAreTheFirstFoldersBelowTheSuite) {
  EXPECT_EQ(level_of("/k/suite", "/k/suite/level1/a.py"), "level1");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/level1/deep/a.py"), "level1");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/a.py"), "suite");
  EXPECT_EQ(level_of("/k/suite/", "/k/suite/a.py"), "suite");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/linear/func_forward.py"), "suite");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/level1/linear/func_forward.py"), "level1");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/definitions/norm/a.json#3"), "norm");
  EXPECT_EQ(level_of("/k/suite", "/k/suite/definitions/a.json#3"), "definitions");
  EXPECT_EQ(level_of("/k/suite/definitions", "/k/suite/definitions/norm/a.json"), "norm");
}

TEST(SuitePlanTest, ABrokenFilesReasonDoesNotRepeatItsName) {
  const synthesis::FoundTasks found{
      {}, {{"/suite/x.py", {ErrorCode::parse_failed, "/suite/x.py: a task needs `class Model`"}}}};
  const SuitePlan plan = plan_suite("/suite", found, 1, RunConfig{});
  ASSERT_EQ(plan.broken.size(), 1U);
  EXPECT_EQ(plan.broken[0].file, "/suite/x.py");
  EXPECT_EQ(plan.broken[0].reason, "a task needs `class Model`");
}

TEST(SuitePlanTest, IsReadBackOrRefusedByPlace) {
  const auto back = parse_suite_plan(to_json(plan_of(3)));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, plan_of(3));
  const auto message = [](const char* key, const nlohmann::json& value) {
    auto object = nlohmann::json::parse(to_json(plan_of(3)));
    object[nlohmann::json::json_pointer{key}] = value;
    const auto plan = parse_suite_plan(object.dump());
    return plan ? std::string{} : plan.error().message;
  };
  EXPECT_EQ(message("/samples", 0), "samples: expected a whole number from 1 to 100000, got 0");
  EXPECT_EQ(message("/tasks/1/hash", 7), "tasks[1].hash: expected a text, got 7");
  EXPECT_EQ(message("/broken/0", 7), "broken[0]: expected an object, got 7");
  EXPECT_NE(message("/format", 2).find("format: expected"), std::string::npos);
  EXPECT_FALSE(parse_suite_plan("{"));
}

TEST(SuitePlanTest, MutatedTextIsReadOrRefused) {
  RandomStream random{5, "suite_plan_test"};
  for (int round = 0; round < 2000; ++round) {
    std::string text = to_json(plan_of(2));
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    const auto plan = parse_suite_plan(text);
    EXPECT_TRUE(plan || !plan.error().message.empty());
  }
}

const char* const stack_json =
    R"({"cpu":"EPYC","warpsmith":"1","versions":{"torch":"2.11","driver":"580.1"},)"
    R"("gpus":[{"name":"H100","arch":"sm_90","driver":"13.0"}]})";

TEST(StackIdentityTest, NamesDifferencesWithBothValues) {
  const auto here = stack_identity(stack_json, plan_of(1));
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(here->fields.at("lane"), "fp32-strict, tf32-allowed");
  StackIdentity other = *here;
  EXPECT_TRUE(check_comparable(*here, other, false));
  other.fields["gpu"] = "H200";
  const auto refused = check_comparable(*here, other, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("gpu: H100 before, H200 now"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--mix-stacks"), std::string::npos);
  EXPECT_TRUE(check_comparable(*here, other, true));
  EXPECT_FALSE(check_comparable(*here, *stack_identity(stack_json, plan_of(1, "paper")), false));
}

TEST(StackIdentityTest, TextThatIsNotAStackIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"gpus":{},"versions":{}})", R"({"gpus":[],"versions":[]})"}) {
    EXPECT_FALSE(stack_identity(text, plan_of(1))) << text;
  }
}

TEST(SuitePageTest, IsOneFileWithoutScriptsAndEscapesText) {
  SuiteRecords records;
  records.samples["a"] = {passing(2, 2)};
  records.samples["b"] = {failed("wrong")};
  records.samples["b"][0].feedback = "<script>alert('x')</script>";
  SuiteReport report{"/run", plan_of(1), {}, suite_table(plan_of(1), records)};
  const std::string page = to_html(report);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(to_json(report)));
  EXPECT_NE(to_text(report).find("refused: /suite/level2/d.py"), std::string::npos);
}

/// A verdict of a sample with random figures.
Verdict random_verdict(RandomStream& random, bool paper) {
  Verdict verdict;
  verdict.outcome = random.below(3) > 0 ? VerdictClass::passed : VerdictClass::wrong;
  verdict.contract = "cpu";
  verdict.trust = random.below(4) > 0 ? TrustClass::commit : TrustClass::lowered;
  verdict.feedback = verdict.correct() ? "passed" : "wrong: set 1, \"dense\"\nmore";
  verdict.jail = {{"seccomp", "on"}};
  verdict.phase_ms = {{"compile", 3.5}};
  if (!verdict.correct()) return verdict;
  nlohmann::json blocks = nlohmann::json::array();
  for (uint64_t i = random.below(20); i > 0; --i) blocks.push_back(random.uniform() + 0.5);
  verdict.evidence =
      nlohmann::json{{"timing", {{"candidate_ms", blocks}, {"eager_ms", blocks}}}}.dump();
  ShapeResult& shape = verdict.shapes.emplace_back();
  shape.shape = "x";
  shape.candidate_ms = random.uniform() + 0.1;
  shape.eager_ms = random.uniform() + 0.1;
  shape.speedup_eager = *shape.eager_ms / *shape.candidate_ms;
  shape.speedup_eager_interval = Interval{0.9 * *shape.speedup_eager, 1.1 * *shape.speedup_eager};
  if (random.below(2) > 0) shape.speedup_compile = random.uniform() * 3;
  shape.further.push_back({"max-autotune", "", 1.0, 2.0, Interval{1, 3}});
  if (paper) verdict.strict = StrictResult{random.below(2) > 0, "because"};
  return verdict;
}

void fill(RunDatabase& db, const SuitePlan& plan, RandomStream& random) {
  ASSERT_TRUE(db.begin_incarnation(0));
  TrajectoryId id = 0;
  for (const SuiteTask& suite_task : plan.tasks) {
    const Task task{.id = suite_task.id, .source = suite_task.file, .content_hash = "h"};
    ASSERT_TRUE(db.put_task(task));
    for (uint64_t i = random.below(static_cast<uint64_t>(plan.samples) + 3); i > 0; --i) {
      ASSERT_TRUE(db.put_admission(++id, task, {1, 0}));
      const uint64_t fate = random.below(8);
      if (fate == 0) continue;  // still open
      if (fate == 1) {
        ASSERT_TRUE(db.put_drop(id, DropReason::infrastructure, "lost"));
        continue;
      }
      if (fate == 2) {
        ASSERT_TRUE(db.put_outcome(id, {.reward = -1}));
        continue;
      }
      const Verdict verdict = random_verdict(random, plan.numerics == "paper");
      ASSERT_TRUE(db.put_verdict({id, 1, true, verdict}));
      Verdict other = random_verdict(random, plan.numerics == "paper");
      other.submission_hash = "of files that were not kept";
      ASSERT_TRUE(db.put_verdict({id, 1, true, other}));
      ASSERT_TRUE(db.put_outcome(id, {.reward = 1, .verdict = verdict.outcome}));
    }
  }
  ASSERT_TRUE(db.put_event("task_refused", "synthesis", "task b refused: too short, by far"));
}

TEST(SuiteTableTest, AnIndependentScriptComputesTheSameTable) {
  RandomStream random{11, "suite_table_test"};
  for (int round = 0; round < 12; ++round) {
    const auto folder = test_support::TemporaryFolder::in_memory();
    const RunPaths paths{folder.path()};
    const SuitePlan plan = plan_of(round % 2 == 0 ? 4 : 12, round % 3 == 0 ? "paper" : "strict");
    auto db = RunDatabase::open(paths.database());
    ASSERT_TRUE(db) << db.error().message;
    fill(*db, plan, random);
    const auto records = read_suite_records(*db);
    ASSERT_TRUE(records) << records.error().message;
    ASSERT_TRUE(write_file_whole(suite_file(paths), to_json(plan)));
    ASSERT_TRUE(write_file_whole(paths.folder / "report.csv", to_csv(suite_table(plan, *records))));
    const std::string command = "python3 scripts/suite_table.py --check " + paths.folder.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << "round " << round;
  }
}

}  // namespace
}  // namespace warpsmith::commands

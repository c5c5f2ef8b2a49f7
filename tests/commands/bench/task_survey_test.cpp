// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/task_survey.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using std::chrono::milliseconds;

/// Accepts every task but "random"; "good" files pass and are 30 % faster than torch.compile.
class ScriptedJudge : public sandbox::Backend {
 public:
  Judgement evaluate(const sandbox::EvaluateRequest& request, Deadline /*deadline*/) override {
    Verdict verdict{.outcome = VerdictClass::wrong};
    if (request.submission.files.at("kernel.cpp") != "good") return verdict;
    verdict.outcome = VerdictClass::passed;
    verdict.shapes.push_back({.speedup_compile_interval = Interval{1.2, 1.4}});
    return verdict;
  }
  Result<TaskFacts> ingest(const Task& task, Deadline /*deadline*/) override {
    if (task.id == "lost") return fail(ErrorCode::peer_lost, "the service ended");
    if (task.id == "random") return fail(ErrorCode::invalid_argument, "two calls differ");
    return TaskFacts{};
  }
};

class TaskSurveyTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
  }
  Result<SurveyedTask> survey(const std::string& id) {
    const Task task{.id = id};
    const auto solutions = solutions_of(task, folder_.path(), "cpu");
    if (!solutions) return tl::unexpected(solutions.error());
    return survey_task(judge_, task, *solutions, [](const std::string&) {});
  }

  test_support::TemporaryFolder folder_;
  ScriptedJudge judge_;
};

TEST_F(TaskSurveyTest, RightAndWrongSolutionsAreJudgedSeparately) {
  write("rows/kernel.cpp", "good");
  write("rows/wrong.json", R"({"mistake": "it is bad", "edits": {"kernel.cpp": [
    {"old_string": "good", "new_string": "bad"}]}})");
  const auto seen = survey("rows");
  ASSERT_TRUE(seen) << seen.error().message;
  const SurveyCounts sum = Survey{{*seen}}.counts();
  EXPECT_EQ(sum.accepted, 1);
  EXPECT_EQ(sum.right_passed, 1);
  EXPECT_EQ(sum.beat_compile, 1);
  EXPECT_EQ(sum.wrong, 1);
  EXPECT_EQ(sum.wrong_passed, 0);
}

TEST_F(TaskSurveyTest, AWrongSolutionThatPassesIsCounted) {
  write("rows/wrong.json", R"({"mistake": "none", "edits": {}})");
  const auto wrong_alone = survey("rows");
  EXPECT_FALSE(wrong_alone) << "a folder with only a wrong solution is an error";
  write("rows/kernel.cpp", "good");
  EXPECT_EQ((Survey{{*survey("rows")}}.counts().wrong_passed), 1);
}

TEST_F(TaskSurveyTest, ARefusalIsAResultAndALostServiceIsNot) {
  const auto random = survey("random");
  ASSERT_TRUE(random);
  EXPECT_EQ(random->refusal, "two calls differ");
  EXPECT_EQ((Survey{{*random}}.counts().refused), 1);
  EXPECT_FALSE(survey("lost"));
}

TEST_F(TaskSurveyTest, WithoutASolutionNothingIsJudged) {
  const auto seen = survey("rows");
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->right || seen->wrong);
}

}  // namespace
}  // namespace warpsmith::commands

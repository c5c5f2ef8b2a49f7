// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/evaluation_rate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace warpsmith::commands {
namespace {

using std::chrono::milliseconds;

/// Accepts every task but "random"; passes only kernels of tasks that it has ingested.
class PassesIngestedTasks : public SandboxBackend {
 public:
  Judgement evaluate(const Task& task, const Submission& /*submission*/, Request /*request*/,
                     milliseconds /*budget*/) override {
    const bool known = known_.contains(task.id);
    return Verdict{.outcome = known ? VerdictClass::passed : VerdictClass::wrong,
                   .feedback = "timed before it was ingested"};
  }
  Result<TaskFacts> ingest(const Task& task, milliseconds /*budget*/) override {
    if (task.id == "random") return fail(ErrorCode::invalid_argument, "two calls differ");
    known_.insert(task.id);
    return TaskFacts{};
  }

 private:
  std::set<std::string> known_;
};

EvaluationLoad load_of(const std::vector<std::string>& ids, int64_t evaluations) {
  EvaluationLoad load{.evaluations = evaluations, .progress = [](const std::string&) {}};
  for (const std::string& id : ids) {
    load.tasks.push_back(Task{.id = id});
    load.sources[id] = {{{"kernel.cpp", ""}}};
  }
  return load;
}

Result<EvaluationFigures> measure(const EvaluationLoad& load) {
  const SandboxBackendFactory slot = [] { return std::make_unique<PassesIngestedTasks>(); };
  return measure_evaluations({slot, slot}, load);
}

TEST(EvaluationRateTest, OnlyPreparedTasksAreTimed) {
  const auto figures = measure(load_of({"random", "rows", "later"}, 2));
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(figures->evaluations, 2);
  EXPECT_TRUE(figures->not_passed.empty()) << figures->not_passed.front();
}

TEST(EvaluationRateTest, NothingIsMeasuredIfEveryTaskIsRefused) {
  const auto figures = measure(load_of({"random"}, 2));
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().message, "every task was refused");
}

TEST(EvaluationRateTest, AStopLeavesTheEvaluationsSoFar) {
  EvaluationLoad load = load_of({"rows"}, 1'000'000);
  std::atomic<int> answers{0};
  load.stop = [&] { return ++answers > 50; };
  const auto figures = measure(load);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_GT(figures->evaluations, 0);
  EXPECT_LE(figures->evaluations, 50);
}

/// A service that is ended from outside while it measures its first task.
class EndedService : public SandboxBackend {
 public:
  explicit EndedService(std::atomic<bool>& stopped) : stopped_(stopped) {}
  Judgement evaluate(const Task& /*task*/, const Submission& /*submission*/, Request /*request*/,
                     milliseconds /*budget*/) override {
    return InfraFailure{InfraKind::sandbox_lost, "ended"};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, milliseconds /*budget*/) override {
    stopped_ = true;
    return fail(ErrorCode::peer_lost, "ended");
  }

 private:
  std::atomic<bool>& stopped_;
};

TEST(EvaluationRateTest, FailureCausedByAStopIsIgnored) {
  EvaluationLoad load = load_of({"rows"}, 2);
  std::atomic<bool> stopped{false};
  load.stop = [&] { return stopped.load(); };
  const SandboxBackendFactory slot = [&] { return std::make_unique<EndedService>(stopped); };
  const auto figures = measure_evaluations({slot, slot}, load);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(figures->evaluations, 0);
}

}  // namespace
}  // namespace warpsmith::commands

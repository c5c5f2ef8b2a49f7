// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/bench/evaluation_rate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;

/// Takes in every task but "random"; passes kernels of tasks that it has taken in.
class TakesInFirst : public SandboxBackend {
 public:
  Judgement evaluate(const Task& task, const Submission& /*submission*/, Request /*request*/,
                     milliseconds /*budget*/) override {
    const bool known = known_.contains(task.id);
    return Verdict{.outcome = known ? VerdictClass::passed : VerdictClass::wrong,
                   .feedback = "not taken in before it was timed"};
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
  const SandboxBackendFactory slot = [] { return std::make_unique<TakesInFirst>(); };
  return measure_evaluations({slot, slot}, load);
}

TEST(EvaluationRateTest, OnlyWhatWasMadeReadyIsTimedWhereATaskIsRefused) {
  const auto figures = measure(load_of({"random", "rows", "later"}, 2));
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(figures->evaluations, 2);
  EXPECT_TRUE(figures->not_passed.empty()) << figures->not_passed.front();
}

TEST(EvaluationRateTest, NothingIsMeasuredWhereEveryTaskIsRefused) {
  const auto figures = measure(load_of({"random"}, 2));
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().message, "every task was refused");
}

TEST(EvaluationRateTest, EndsWithWhatThereIsOnceItIsToldToStop) {
  EvaluationLoad load = load_of({"rows"}, 1'000'000);
  std::atomic<int> answers{0};
  load.stop = [&] { return ++answers > 50; };
  const auto figures = measure(load);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_GT(figures->evaluations, 0);
  EXPECT_LE(figures->evaluations, 50);
}

/// Its service is ended from outside while it measures its first task.
class Ended : public SandboxBackend {
 public:
  explicit Ended(std::atomic<bool>& told) : told_(told) {}
  Judgement evaluate(const Task& /*task*/, const Submission& /*submission*/, Request /*request*/,
                     milliseconds /*budget*/) override {
    return InfraFailure{InfraKind::sandbox_lost, "ended"};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, milliseconds /*budget*/) override {
    told_ = true;
    return fail(ErrorCode::peer_lost, "ended");
  }

 private:
  std::atomic<bool>& told_;
};

TEST(EvaluationRateTest, WhatAStopEndedIsNoFailure) {
  EvaluationLoad load = load_of({"rows"}, 2);
  std::atomic<bool> told{false};
  load.stop = [&] { return told.load(); };
  const SandboxBackendFactory slot = [&] { return std::make_unique<Ended>(told); };
  const auto figures = measure_evaluations({slot, slot}, load);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(figures->evaluations, 0);
}

}  // namespace
}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/evaluation_rate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

namespace warpsmith::commands {
namespace {

using std::chrono::milliseconds;

/// Accepts every task but "random"; passes only kernels of tasks that it has ingested.
class PassesIngestedTasks : public sandbox::Backend {
 public:
  Judgement evaluate(const sandbox::EvaluateRequest& request, Deadline /*deadline*/) override {
    const bool known = known_.contains(request.task.id);
    return Verdict{.outcome = known ? VerdictClass::passed : VerdictClass::wrong,
                   .feedback = "timed before it was ingested"};
  }
  Result<TaskFacts> ingest(const Task& task, Deadline /*deadline*/) override {
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
class EndedService : public sandbox::Backend {
 public:
  explicit EndedService(std::atomic<bool>& stopped) : stopped_(stopped) {}
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    return InfraFailure{InfraKind::sandbox_lost, "ended"};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
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

/// Passes everything and counts the evaluations.
class Counting : public sandbox::Backend {
 public:
  explicit Counting(std::atomic<int>& evaluated) : evaluated_(evaluated) {}
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    ++evaluated_;
    return Verdict{.outcome = VerdictClass::passed};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    return TaskFacts{};
  }

 private:
  std::atomic<int>& evaluated_;
};

EvaluationLoad ten() {
  EvaluationLoad load{.contract = "device",
                      .tasks = {Task{.id = "rows"}},
                      .evaluations = 10,
                      .progress = [](const std::string&) {}};
  load.sources["rows"] = {{{"kernels.cu", ""}}};
  return load;
}

GpuScaling with_rates(int64_t gpus, double one, double all) {
  return {.gpus = gpus, .one = {.per_second = one}, .all = {.per_second = all}};
}

TEST(GpuScalingTest, TheBarIsNineteenTwentiethsOfOneGpuEach) {
  EXPECT_DOUBLE_EQ(with_rates(2, 2.5, 4.8).ratio(), 1.92);
  EXPECT_DOUBLE_EQ(with_rates(2, 2.5, 4.8).ratio_bar(), 1.9);
  EXPECT_TRUE(with_rates(2, 2.5, 4.8).meets_bar());
  EXPECT_FALSE(with_rates(2, 2.5, 4.7).meets_bar());
  EXPECT_FALSE(with_rates(4, 2.5, 9.4).meets_bar());
  EXPECT_EQ(with_rates(2, 0, 4.8).ratio(), 0);
}

TEST(GpuScalingTest, FirstOneGpuIsMeasuredThenAll) {
  std::vector<std::atomic<int>> evaluated(2);
  std::vector<std::atomic<int>> begun(2);
  std::vector<SandboxBackendFactory> slots;
  slots.reserve(4);
  for (size_t i = 0; i < 4; ++i) {
    slots.emplace_back([&, gpu = i % 2] {
      ++begun[gpu];
      return std::make_unique<Counting>(evaluated[gpu]);
    });
  }
  const auto scaling = measure_scaling(slots, 2, ten());
  ASSERT_TRUE(scaling) << scaling.error().message;
  EXPECT_EQ(begun[0], 4);
  EXPECT_EQ(begun[1], 2);
  EXPECT_EQ(scaling->one.slots, 2);
  EXPECT_EQ(scaling->all.slots, 4);
  EXPECT_EQ(scaling->one.evaluations, 10);
  EXPECT_EQ(scaling->all.evaluations, 20);
  // Each slot makes one more evaluation, which is not measured.
  EXPECT_EQ(evaluated[0] + evaluated[1], 10 + 20 + 2 + 4);
}

TEST(GpuScalingTest, AStopLeavesTheFiguresOfOne) {
  std::atomic<int> evaluated{0};
  const SandboxBackendFactory slot = [&] { return std::make_unique<Counting>(evaluated); };
  EvaluationLoad load = ten();
  load.stop = [&] { return evaluated > 5; };
  const auto scaling = measure_scaling({slot, slot}, 2, load);
  ASSERT_TRUE(scaling) << scaling.error().message;
  EXPECT_GT(scaling->one.evaluations, 0);
  EXPECT_EQ(scaling->all.evaluations, 0);
  EXPECT_EQ(scaling->ratio(), 0);
}

}  // namespace
}  // namespace warpsmith::commands

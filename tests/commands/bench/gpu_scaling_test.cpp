// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/gpu_scaling.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace warpsmith::commands {
namespace {

using std::chrono::milliseconds;

/// Passes everything and counts the evaluations.
class Counting : public SandboxBackend {
 public:
  explicit Counting(std::atomic<int>& evaluated) : evaluated_(evaluated) {}
  Judgement evaluate(const Task& /*task*/, const Submission& /*submission*/, Request /*request*/,
                     milliseconds /*budget*/) override {
    ++evaluated_;
    return Verdict{.outcome = VerdictClass::passed};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, milliseconds /*budget*/) override {
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

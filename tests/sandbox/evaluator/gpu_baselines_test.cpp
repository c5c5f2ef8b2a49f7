// SPDX-License-Identifier: Apache-2.0
// The further baselines and the clocks of a GPU, through the whole evaluator.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/environment.hpp"
#include "tests/sandbox/support/gpu_evaluator.hpp"
#include "tests/sandbox/support/submissions.hpp"

namespace warpsmith::sandbox {
namespace {

using nlohmann::json;

class GpuBaselinesTest : public testing::GpuEvaluator {
 protected:
  static void SetUpTestSuite() { open({"max-autotune", "cuda-graph"}); }

  static Verdict judged(const Task& task, FileSet files) {
    EvaluateRequest request{.task = task, .submission = {task.id, "device", std::move(files)}};
    Judgement judgement = evaluator->evaluate(request, testing::in_seconds(400));
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      throw std::runtime_error(failure->detail);
    }
    return std::get<Verdict>(std::move(judgement));
  }
};

TEST_F(GpuBaselinesTest, AreTimedInEachBlockWithClockReadings) {
  for (const char* task : {"centred_rows", "centred_linear"}) {
    const Verdict v = judged(testing::hack_task(task), testing::of_device.honest(task));
    ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
    std::printf("%s: %s\n%s\nheld %.0f ms\n", task, v.feedback.c_str(),
                v.evidence.substr(0, 3000).c_str(), v.device_held_ms.value_or(0));
    for (const FurtherResult& one : v.shapes.at(0).further) {
      EXPECT_EQ(one.reason, "") << one.name;
      EXPECT_GT(one.ms.value_or(0), 0) << one.name;
      EXPECT_GT(one.speedup_interval.value_or(Interval{}).low, 0) << one.name;
    }
    const json timing = json::parse(v.evidence)["timing"];
    EXPECT_EQ(timing["order"].size() % 10, 0U);
    for (const std::string order : timing["order"]) EXPECT_EQ(order.size(), 5U);
    if (timing["clocks"].contains("reason")) continue;  // a machine without NVML
    EXPECT_GT(timing["clocks"]["summary"]["lowest_sm_mhz"].get<double>(), 0);
    const size_t readings = timing["clocks"]["sm_mhz"].size();
    EXPECT_TRUE(readings == 2 || readings == timing["order"].size() + 1) << readings;
  }
}

/// A graph's launches cost the host no time, so it is never much slower than eager.
TEST_F(GpuBaselinesTest, AGraphIsAtLeastAsFastAsEager) {
  const Verdict v =
      judged(testing::hack_task("centred_rows"), testing::of_device.honest("centred_rows"));
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_LT(v.shapes.at(0).further.at(1).ms.value_or(1e9), 1.1 * *v.shapes.at(0).eager_ms);
}

TEST_F(GpuBaselinesTest, ATaskThatCannotBeCapturedIsJudgedWithoutTheGraph) {
  Task task = testing::hack_task("centred_rows");
  const std::string header = "def forward(self, x):\n";
  const size_t at = task.code.find(header);
  ASSERT_NE(at, std::string::npos) << task.code;
  task.code.insert(at + header.size(), "        torch.cuda.synchronize()\n");
  task.content_hash = sha256_hex(task.code);
  const Verdict v = judged(task, testing::of_device.honest("centred_rows"));
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  const auto& further = v.shapes.at(0).further;
  EXPECT_EQ(further.at(0).reason, "");
  EXPECT_NE(further.at(1).reason, "");
  EXPECT_FALSE(further.at(1).ms);
}

}  // namespace
}  // namespace warpsmith::sandbox

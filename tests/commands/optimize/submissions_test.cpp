// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/submissions.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

/// A service that ends during its first evaluation.
class EndingService : public sandbox::Backend {
 public:
  EndingService(bool& stopped, bool by_signal) : stopped_(stopped), by_signal_(by_signal) {}
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    stopped_ = by_signal_;
    return InfraFailure{InfraKind::sandbox_lost, "closed by the other end"};
  }
  Result<TaskFacts> ingest(const Task& /*task*/, Deadline /*deadline*/) override {
    return fail(ErrorCode::unsupported, "not asked for");
  }

 private:
  bool& stopped_;
  bool by_signal_;
};

PoolResult judged(bool by_signal) {
  bool stopped = false;
  JudgingPool pool;
  pool.slots = {[&]() -> Result<std::unique_ptr<sandbox::Backend>> {
    return std::make_unique<EndingService>(stopped, by_signal);
  }};
  pool.shapes = {{"get_inputs", {}}};
  pool.stopped = [&stopped] { return stopped; };
  pool.progress = [](const std::string& /*line*/) {};
  const std::vector<FoundSubmission> two(2);
  return judge_all(pool, two, AttemptRole::candidate,
                   [](const Attempt& /*attempt*/) -> Result<void> { return {}; });
}

TEST(JudgingPoolTest, ALostServiceLeavesACandidateWithoutAVerdict) {
  const PoolResult result = judged(/*by_signal=*/false);
  EXPECT_EQ(result.unjudged.size(), 2U);
  EXPECT_EQ(result.not_begun, 0U);
}

TEST(JudgingPoolTest, WorkCutShortByCtrlCIsNotAMachineFailure) {
  const PoolResult result = judged(/*by_signal=*/true);
  EXPECT_TRUE(result.unjudged.empty());
  EXPECT_EQ(result.not_begun, 2U);
}

}  // namespace
}  // namespace warpsmith::commands

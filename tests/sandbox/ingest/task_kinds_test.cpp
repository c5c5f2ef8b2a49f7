// SPDX-License-Identifier: Apache-2.0
// Ingest of tasks as people write them, and what numerics `paper` add.
#include "tests/sandbox/ingest/ingest_fixture.hpp"

namespace warpsmith::sandbox::test {
namespace {

class TaskKindsTest : public IngestTest {};

/// A task whose forward is `body` on the inputs x, of which `inputs` is the list.
std::string task_with(const std::string& body, const std::string& inputs) {
  return "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n"
         "    def forward(self, *x):\n        " +
         body + "\ndef get_inputs():\n    return [" + inputs +
         "]\ndef get_init_inputs():\n    return []\n";
}

TEST_F(TaskKindsTest, AcceptsOutputsThatAreInfiniteByDesign) {
  const std::string rows = "torch.randn(64, 64)";
  for (const std::string& code :
       {task_with("return (x[0] @ x[0].T).masked_fill(torch.ones(64, 64).triu(1).bool(), "
                  "float('-inf'))",
                  rows),
        task_with("return torch.log(torch.relu(x[0]))", rows),
        task_with("return torch.relu(x[0]).reciprocal()", rows)}) {
    SCOPED_TRACE(code);
    const auto record = verified(code);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->refusal, "");
    for (const DistributionFacts& facts : record->distributions) {
      EXPECT_TRUE(facts.kept) << to_string(facts.distribution);
    }
  }
}

TEST_F(TaskKindsTest, AcceptsSumsAndScansOfIntegersAndBooleans) {
  const std::string whole = "torch.randint(0, 100, (64, 64))", some = "torch.rand(64, 64) > 0.3";
  for (const std::string& code :
       {task_with("return x[0].sum(-1)", whole), task_with("return x[0].cumsum(1)", whole),
        task_with("return x[0].sum(0), x[0].float().mean(1)", some),
        task_with("return (x[0] * x[1]).sum(1) / x[1].sum(1).clamp(min=1)",
                  "torch.randn(64, 64), " + some)}) {
    SCOPED_TRACE(code);
    const auto record = verified(code);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->refusal, "");
  }
}

/// Nothing is lost in bfloat16, so its outputs are not a wrong answer.
TEST_F(TaskKindsTest, AcceptsOutputsThatHalfTypesHoldExactly) {
  for (const std::string& code : {task_with("return torch.sign(x[0])", "torch.randn(64, 64)"),
                                  task_with("return nn.functional.one_hot(x[0], 8).sum(0).float()",
                                            "torch.randint(0, 8, (1000,))")}) {
    SCOPED_TRACE(code);
    const auto record = verified(code);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->refusal, "");
  }
}

/// More tensors than any of KernelBench's networks.
TEST_F(TaskKindsTest, AcceptsANetworkOfManyTensors) {
  std::string code = task_with("return sum(x[0] * w for w in self.ws)", "torch.randn(64, 64)");
  code.replace(code.find("    def forward"), 0,
               "    def __init__(self):\n        super().__init__()\n"
               "        self.ws = nn.ParameterList([torch.randn(64) for _ in range(320)])\n");
  const auto record = verified(code);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_EQ(record->facts.signature.tensors.size(), 322U);
}

/// Every right value of a softmax over long rows lies below the tolerance.
TEST_F(TaskKindsTest, PaperMarksAWeakTaskAndRefusesNone) {
  const std::string soft = task_with("return torch.softmax(x[0], -1)", "torch.rand(16, 4096)");
  const auto weak =
      ingest_code(soft, PrecisionLane::fp32_strict, IngestScope::verified, Numerics::paper);
  ASSERT_TRUE(weak) << weak.error().message;
  EXPECT_EQ(weak->refusal, "");
  EXPECT_EQ(weak->strict_refusal, "");
  EXPECT_THAT(weak->weakness, testing::HasSubstr("zeros ("));
  EXPECT_THAT(weak->weakness, testing::Not(testing::HasSubstr("bf16")));
  const auto sound =
      ingest_code(simple_code("return x * self.weight + self.bias"), PrecisionLane::fp32_strict,
                  IngestScope::verified, Numerics::paper);
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->weakness, "");
}

TEST_F(TaskKindsTest, PaperTakesATaskThatStrictRefuses) {
  const std::string code = simple_code("return torch.sqrt(x.abs() - x.abs()) + x + 0 * self.bias");
  const auto record =
      ingest_code(code, PrecisionLane::fp32_strict, IngestScope::whole, Numerics::paper);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_THAT(record->strict_refusal, testing::HasSubstr("(nothing bounds "));
  EXPECT_THAT(record->weakness, testing::HasSubstr("dropped_bias ("));
  EXPECT_GT(record->facts.compile_ms, 0);
  EXPECT_EQ(record->profiles.size(), 1U);
}

}  // namespace
}  // namespace warpsmith::sandbox::test

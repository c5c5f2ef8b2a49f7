// SPDX-License-Identifier: Apache-2.0
// Whole judgements with further baselines on a CPU, which has max-autotune and no graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/sandbox/support/evaluator_options.hpp"

namespace warpsmith::sandbox {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kernel = R"(
#include <cstdint>
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* x = (const float*)in[0];
  const float* w = (const float*)in[1];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r)
    for (int64_t c = 0; c < dims[1]; ++c) y[r * dims[1] + c] = x[r * dims[1] + c] * w[c] + 1;
}
)";

/// Rows times a weight, plus one; `compiled` holds further lines of forward.
std::string code_of(const std::string& before, const std::string& compiled) {
  return "import os\nimport torch\nimport torch.nn as nn\n" + before +
         "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.weight = nn.Parameter(torch.rand(256))\n"
         "    def forward(self, x):\n" +
         compiled +
         "        return x * self.weight + 1\n"
         "def get_inputs():\n    return [torch.randn(512, 256)]\n"
         "def get_init_inputs():\n    return []\n";
}

/// Ends the worker at the second compilation in a process, which is max-autotune's.
const std::string deadly_before =
    "traces = []\n"
    "@torch._dynamo.assume_constant_result\n"
    "def traced():\n"
    "    traces.append(1)\n"
    "    if len(traces) > 1: os._exit(7)\n"
    "    return 1\n";
const std::string deadly_compiled =
    "        if torch.compiler.is_compiling():\n"
    "            x = x * traced()\n";

class EvaluatorBaselinesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(python_interpreter())) return;
    SandboxOptions options = test::evaluator_options();
    options.core = 0;
    options.baselines = {"max-autotune", "cuda-graph"};
    auto opened = Evaluator::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
  }
  static void TearDownTestSuite() { evaluator.reset(); }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  }

  /// Empty where the machine was too noisy to decide.
  static std::optional<Verdict> judged(const std::string& code) {
    const Task task{.id = "task", .code = code, .content_hash = sha256_hex(code)};
    EvaluateRequest request{.task = task};
    request.submission = {.task_id = task.id, .files = {{"kernel.cpp", kernel}}};
    const Judgement judgement =
        evaluator->evaluate(request, Deadline::after(std::chrono::seconds{500}));
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      EXPECT_EQ(failure->kind, InfraKind::noise) << failure->detail;
      return std::nullopt;
    }
    return std::get<Verdict>(judgement);
  }

  static std::unique_ptr<Evaluator> evaluator;
};
std::unique_ptr<Evaluator> EvaluatorBaselinesTest::evaluator;

TEST_F(EvaluatorBaselinesTest, AVerdictHasTheTimesOfTheTasksBaselines) {
  const auto v = judged(code_of("", ""));
  if (!v) GTEST_SKIP() << "the machine is too noisy to decide";
  ASSERT_EQ(v->outcome, VerdictClass::passed) << v->feedback;
  EXPECT_THAT(v->feedback, HasSubstr("\nother baselines: max-autotune "));
  const auto& further = v->shapes.at(0).further;
  ASSERT_EQ(further.size(), 2U);
  EXPECT_GT(further[0].ms.value_or(0), 0);
  EXPECT_LE(further[0].speedup_interval->low, *further[0].speedup);
  EXPECT_EQ(further[1].reason, "a CPU has no graphs");
  const json evidence = json::parse(v->evidence);
  EXPECT_EQ(evidence["timing"]["order"].size() % 4, 0U);
  EXPECT_GT(evidence["ingest"]["further"]["max-autotune"]["ms"], 0);
  EXPECT_TRUE(evidence["timing"]["clocks"].is_null());
}

TEST_F(EvaluatorBaselinesTest, ABaselineThatEndsTwoWorkersIsDroppedAndTheTaskJudged) {
  const auto v = judged(code_of(deadly_before, deadly_compiled));
  if (!v) GTEST_SKIP() << "the machine is too noisy to decide";
  ASSERT_EQ(v->outcome, VerdictClass::passed) << v->feedback;
  const auto& further = v->shapes.at(0).further;
  ASSERT_EQ(further.size(), 2U);
  EXPECT_THAT(further[0].reason, HasSubstr("exit code 7"));
  EXPECT_FALSE(further[0].ms);
  EXPECT_TRUE(v->shapes[0].speedup_compile);
}

}  // namespace
}  // namespace warpsmith::sandbox

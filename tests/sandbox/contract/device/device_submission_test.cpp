// SPDX-License-Identifier: Apache-2.0
// What contract `device` refuses before a launch, by CUDA's compiler and the plan's checks. Needs
// no GPU.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/environment.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/submissions.hpp"
#include "tests/support/after_all_tests.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::Expectation;
using testing::in_seconds;

class DeviceSubmissionTest : public ::testing::Test {
 public:
  static void close() {
    evaluator.reset();
    folder.reset();
  }

 protected:
  static void SetUpTestSuite() {
    if (evaluator != nullptr || !std::filesystem::exists(python_interpreter())) return;
    if (!find_cuda_toolchain(built_with_toolkit(), python_interpreter())) return;
    folder = std::make_unique<test_support::TemporaryFolder>();
    auto opened =
        Evaluator::open({.program = testing::sandbox_program(),
                         .python = python_interpreter().string(),
                         .cache_dir = test_support::with_shared_baselines(folder->path())});
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
  }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << "no WARPSMITH_PYTHON, or no NVRTC in it";
  }
  static Verdict explained(const std::string& task, FileSet files) {
    EvaluateRequest request;
    request.task = testing::hack_task(task);
    request.submission = {task, "device", std::move(files)};
    request.want = Request::explain;
    Judgement judgement = evaluator->evaluate(request, in_seconds(120));
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      throw std::runtime_error(failure->detail);
    }
    return std::get<Verdict>(std::move(judgement));
  }

  static std::unique_ptr<test_support::TemporaryFolder> folder;
  static std::unique_ptr<Evaluator> evaluator;
};
std::unique_ptr<test_support::TemporaryFolder> DeviceSubmissionTest::folder;
std::unique_ptr<Evaluator> DeviceSubmissionTest::evaluator;
const bool evaluator_registered = test_support::after_all_tests(DeviceSubmissionTest::close);

class CompiledHackTest : public DeviceSubmissionTest,
                         public ::testing::WithParamInterface<std::string> {};

TEST_P(CompiledHackTest, CompilesUnlessItMustBeRefused) {
  const Expectation expected = testing::of_device.expectation(GetParam());
  const Verdict verdict = explained(expected.task, testing::of_device.files(GetParam()));
  const std::string outcome(to_string(verdict.outcome));
  if (expected.want == Request::explain) {
    EXPECT_TRUE(expected.gpu.contains(outcome)) << verdict.feedback;
  } else {
    EXPECT_EQ(outcome, "passed") << verdict.feedback;  // it is judged when it runs
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CompiledHackTest,
                         ::testing::ValuesIn(testing::of_device.hacks([](const auto&) {
                           return true;
                         })),
                         [](const auto& hack) { return hack.param; });

TEST_F(DeviceSubmissionTest, ExplainsATaskThatDoesNotFitThisMachine) {
  EvaluateRequest request;
  request.task = {.id = "large",
                  .code =
                      "import torch\nimport torch.nn as nn\n"
                      "class Model(nn.Module):\n    def forward(self, x):\n"
                      "        return x.clone()\n"
                      "def get_inputs():\n    return [torch.randn(65536, 131072)]\n"
                      "def get_init_inputs():\n    return []\n"};
  request.submission = {
      "large", "device", {{"plan.toml", "[[step]]\ncopy = \"y\"\nfrom = \"x\"\n"}}};
  request.want = Request::explain;
  const Judgement judgement = evaluator->evaluate(request, in_seconds(120));
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement))
      << std::get<InfraFailure>(judgement).detail;
  const Verdict& v = std::get<Verdict>(judgement);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_TRUE(v.feedback.starts_with("extents d0 = 65536, d1 = 131072\n")) << v.feedback;
}

TEST_F(DeviceSubmissionTest, HonestSolutionsCompileAndBind) {
  for (const char* task : {"centred_rows", "centred_linear"}) {
    const Verdict verdict = explained(task, testing::of_device.honest(task));
    EXPECT_EQ(verdict.outcome, VerdictClass::passed) << verdict.feedback;
  }
}

}  // namespace
}  // namespace warpsmith::sandbox

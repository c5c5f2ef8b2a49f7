// SPDX-License-Identifier: Apache-2.0
// Contract `host` on the CPU: honest candidates pass, wrong ones get their class and a reason.
#include "sandbox/jail/jail_limits.hpp"
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using test::honest_forward;
using test::model_new;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EvaluatorHostTest : public test::HostJudged {};

TEST_F(EvaluatorHostTest, PassesPlainTorchCode) {
  const Verdict v = verdict(model_new(honest_forward));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_EQ(v.contract, "host");
  EXPECT_THAT(v.feedback, StartsWith("passed: 6 of 6 sets"));
  EXPECT_THAT(v.jail.at("seccomp"), HasSubstr("then of"));
  EXPECT_EQ(v.trust, probe_cgroups() ? TrustClass::commit : TrustClass::lowered);
}

TEST_F(EvaluatorHostTest, MayImportTheTask) {
  EXPECT_EQ(verdict("from model import Model\nclass ModelNew(Model):\n    pass\n").outcome,
            VerdictClass::passed);
}

const std::string ragged_code =
    std::string(test::centred_code) +
    "def get_ragged_inputs():\n    return [torch.randn(301, 256), 2.0]\n";

TEST_F(EvaluatorHostTest, IsVerifiedOnHiddenShapesToo) {
  const Verdict v = verdict(model_new(honest_forward), Request::verify, ragged_code);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  ASSERT_EQ(v.shapes.size(), 2U);
  EXPECT_EQ(v.shapes[1].shape, "d0=301 d1=256");
  const Verdict fixed =
      verdict(model_new("assert x.shape[0] == 512, x.shape; " + std::string(honest_forward)),
              Request::verify, ragged_code);
  EXPECT_EQ(fixed.outcome, VerdictClass::launch_error);
  EXPECT_EQ(fixed.feedback, "launch_error: on other sizes of the task's inputs than those shown");
}

TEST_F(EvaluatorHostTest, FindsNoHiddenSizesInTheTasksText) {
  const Verdict v = verdict(
      "import model\nclass ModelNew(model.Model):\n"
      "    def forward(self, x, scale):\n"
      "        assert hasattr(model, 'get_inputs')\n"
      "        assert x.shape[0] != 512 or not hasattr(model, 'get_ragged_inputs')\n"
      "        return super().forward(x, scale)\n",
      Request::verify, ragged_code);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

TEST_F(EvaluatorHostTest, WrongResultsAreWrong) {
  EXPECT_EQ(verdict(model_new("return x * scale + self.bias")).outcome, VerdictClass::wrong);
  EXPECT_EQ(verdict(model_new("return x * float('nan')")).outcome, VerdictClass::nonfinite);
}

TEST_F(EvaluatorHostTest, NamesOutputsOfAnotherKind) {
  EXPECT_THAT(verdict(model_new("return x[:1]")).feedback,
              HasSubstr("output 0 is f32 [1, 256], expected f32 [512, 256]"));
  EXPECT_THAT(verdict(model_new("return x.double()")).feedback,
              HasSubstr("output 0 is f64 [512, 256], expected f32 [512, 256]"));
  EXPECT_THAT(verdict(model_new("return x, x")).feedback, HasSubstr("forward gave 2 outputs"));
  const Verdict none = verdict(model_new("return None"));
  EXPECT_EQ(none.outcome, VerdictClass::wrong);
  EXPECT_THAT(none.feedback, HasSubstr("output 0 is a NoneType, expected a tensor"));
}

TEST_F(EvaluatorHostTest, ErrorsCarryTheCandidatesLine) {
  const Verdict raised = verdict(model_new("raise ValueError('no such luck')"));
  EXPECT_EQ(raised.outcome, VerdictClass::launch_error);
  EXPECT_THAT(raised.feedback, HasSubstr("ValueError: no such luck (model_new.py, line 10, in"));
  const Verdict broken = verdict("class ModelNew(:\n");
  EXPECT_EQ(broken.outcome, VerdictClass::compile_error);
  EXPECT_EQ(broken.feedback, "compile_error: SyntaxError: invalid syntax (model_new.py, line 1)");
  EXPECT_EQ(verdict(model_new("raise SystemExit(0)")).outcome, VerdictClass::launch_error);
  EXPECT_EQ(verdict(model_new("import os; os._exit(0)")).outcome, VerdictClass::device_fault);
}

TEST_F(EvaluatorHostTest, NamesStateThatModelLacks) {
  const Verdict v = verdict(
      "import torch\nclass ModelNew(torch.nn.Module):\n"
      "    def __init__(self, columns):\n        super().__init__()\n"
      "    def forward(self, x, scale):\n        return x\n");
  EXPECT_EQ(v.outcome, VerdictClass::launch_error);
  EXPECT_EQ(v.feedback, "launch_error: ModelNew lacks what Model's state holds: bias");
  EXPECT_THAT(
      verdict(model_new("return x", "", "self.bias = nn.Parameter(torch.zeros(3))")).feedback,
      HasSubstr("bias is f32 [3], Model's f32 [256]"));
}

TEST_F(EvaluatorHostTest, AnEndlessLoopIsCut) {
  const Verdict v = verdict(model_new("while True: pass"));
  EXPECT_EQ(v.outcome, VerdictClass::timeout) << v.feedback;
}

TEST_F(EvaluatorHostTest, InputsCannotBeWritten) {
  const Verdict v = verdict(model_new("x.add_(1); return x"));
  EXPECT_EQ(v.outcome, VerdictClass::input_mutated) << v.feedback;
}

TEST_F(EvaluatorHostTest, ParametersCannotBePrepacked) {
  const std::string packed =
      model_new("y = x * scale + self.packed[0]; return y - y.mean(-1, keepdim=True)", "",
                "self.packed = [self.bias.detach().clone()]");
  const std::string first_call = model_new(
      "self.packed = self.bias.clone() if self.packed is None else self.packed; "
      "y = x * scale + self.packed; return y - y.mean(-1, keepdim=True)",
      "", "self.packed = None");
  EXPECT_EQ(verdict(packed).outcome, VerdictClass::wrong);
  EXPECT_EQ(verdict(first_call).outcome, VerdictClass::wrong);
}

TEST_F(EvaluatorHostTest, NamesAFileThatIsMissing) {
  const Verdict missing = verdict(FileSet{{"kernel.cpp", "int x;"}});
  EXPECT_EQ(missing.outcome, VerdictClass::compile_error);
  EXPECT_EQ(missing.feedback, "compile_error: solution/model_new.py is missing");
  EXPECT_THAT(verdict("x = 1\n").feedback, HasSubstr("model_new.py defines no class ModelNew"));
}

TEST_F(EvaluatorHostTest, ATaskMayForbidLibraries) {
  const std::string custom = std::string(test::centred_code) + "custom_kernels_only = True\n";
  const Verdict v =
      verdict(model_new("y = x * scale + self.bias; return y - torch.mean(y, -1, keepdim=True)"),
              Request::verify, custom);
  EXPECT_EQ(v.outcome, VerdictClass::banned_construct) << v.feedback;
  EXPECT_THAT(v.feedback, HasSubstr("model_new.py:11: torch.mean"));
}

/// A candidate can evade the rule, so that a pass under it is trusted less.
TEST_F(EvaluatorHostTest, TheRuleOfCustomKernelsLowersTrust) {
  const std::string custom = std::string(test::centred_code) + "custom_kernels_only = True\n";
  const std::string sums =
      model_new("y = x * scale + self.bias; return y - y.mean(-1, keepdim=True)");
  const Verdict ruled = verdict(sums, Request::verify, custom);
  EXPECT_EQ(ruled.outcome, VerdictClass::passed) << ruled.feedback;
  EXPECT_EQ(ruled.trust, TrustClass::lowered);
}

}  // namespace
}  // namespace warpsmith::sandbox

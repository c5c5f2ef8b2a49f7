// SPDX-License-Identifier: Apache-2.0
// Whole judgements by numerics `paper`.
#include "tests/sandbox/evaluator/evaluator_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using test::coarse_body;
using test::EvaluatorTest;
using test::honest_body;
using test::kernel;
using test::solve;
using test::task_code;

/// Evaluators of numerics `paper`.
class PaperEvaluatorTest : public EvaluatorTest {
 protected:
  static void SetUpTestSuite() {
    SandboxOptions options = on_core();
    options.settings.numerics = Numerics::paper;
    open(options);
  }
};

TEST_F(PaperEvaluatorTest, PassesWhatPublishedNumbersAllowAndSaysSo) {
  const Verdict v = verdict(kernel(coarse_body));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_EQ(v.trust, TrustClass::paper);
  EXPECT_THAT(v.feedback, testing::StartsWith("passed: 5 of 5 sets, worst error 0."));
  EXPECT_THAT(v.feedback, testing::HasSubstr("numerics paper"));
  EXPECT_THAT(v.evidence, testing::HasSubstr(R"("numerics":"paper")"));
  EXPECT_THAT(v.evidence, testing::HasSubstr(R"("bound":{"atol":0.01,"rtol":0.01})"));
  EXPECT_EQ(v.weakness, "");
  EXPECT_TRUE(v.is_rewarded());
  ASSERT_TRUE(v.strict);
  EXPECT_FALSE(v.strict->passed);
  EXPECT_THAT(v.strict->why, testing::StartsWith("wrong: set "));
  EXPECT_TRUE(verdict(kernel(honest_body)).strict->passed);
}

/// Zeros are within the tolerance of a softmax over rows of 4,096. They pass, and earn nothing.
TEST_F(PaperEvaluatorTest, APassOfAWeakTaskEarnsOnlyWhatStrictConfirms) {
  const std::string code =
      "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
      "        return torch.softmax(x, -1)\ndef get_inputs():\n"
      "    return [torch.rand(16, 4096)]\ndef get_init_inputs():\n    return []\n";
  const Verdict zeros =
      verdict(solve("float* o = (float*)out[0]; for (int i = 0; i < 16 * 4096; ++i) o[i] = 0;"),
              Request::verify, code);
  EXPECT_EQ(zeros.outcome, VerdictClass::passed) << zeros.feedback;
  EXPECT_FALSE(zeros.is_rewarded());
  EXPECT_THAT(zeros.feedback, testing::HasSubstr("zeros ("));
  EXPECT_THAT(zeros.feedback, testing::EndsWith("so no reward)"));
  const Verdict right = verdict(
      "#include <cmath>\n" +
          solve("for (int r = 0; r < 16; ++r) { const float* x = (const float*)in[0] + r * 4096;\n"
                "float* y = (float*)out[0] + r * 4096; float top = x[0]; double sum = 0;\n"
                "for (int c = 0; c < 4096; ++c) top = std::fmax(top, x[c]);\n"
                "for (int c = 0; c < 4096; ++c) sum += y[c] = std::exp(x[c] - top);\n"
                "for (int c = 0; c < 4096; ++c) y[c] = (float)(y[c] / sum); }"),
      Request::verify, code);
  EXPECT_TRUE(right.is_rewarded()) << right.feedback;
}

TEST_F(PaperEvaluatorTest, GivesWrongKernelsTheirClassToo) {
  EXPECT_EQ(outcome("for (int64_t c = 0; c < C; ++c) y[c] = 0;"), VerdictClass::wrong);
  EXPECT_EQ(outcome("for (int64_t c = 0; c < C; ++c) y[c] = row[c] + b[c];"), VerdictClass::wrong);
  EXPECT_EQ(outcome("for (int64_t c = 0; c + 1 < C; ++c) y[c] = row[c];"), VerdictClass::nonfinite);
  EXPECT_EQ(outcome("((volatile float*)row)[0] = 1;"), VerdictClass::input_mutated);
  EXPECT_EQ(outcome(std::string(honest_body) + "o[R * C] = 1;"), VerdictClass::oob_write);
}

TEST_F(PaperEvaluatorTest, ChecksEveryTimedOutputToo) {
  const Judgement judgement = judge(
      kernel("    static int calls = 0; if (r == 0) ++calls;\n"
             "    if (calls > 5) { for (int64_t c = 0; c < C; ++c) y[c] = row[c]; continue; }\n" +
             std::string(honest_body)),
      Request::final);
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  const Verdict& v = std::get<Verdict>(judgement);
  EXPECT_EQ(v.outcome, VerdictClass::wrong) << v.feedback;
  EXPECT_THAT(v.feedback, testing::StartsWith("wrong: timed call:"));
}

TEST_F(PaperEvaluatorTest, InputsVaryAboutTheTasksOwnMean) {
  std::string code = task_code;
  code.replace(code.find("torch.randn(512, 256)"), 21, "torch.randn(512, 256) * 0.001 + 7");
  const std::string narrow_body =
      "    if (!(row[0] > 6.9f && row[0] < 7.1f)) { y[0] = 1e9f; continue; }\n";
  const Verdict v = verdict(kernel(narrow_body + honest_body), Request::verify, code);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

}  // namespace
}  // namespace warpsmith::sandbox

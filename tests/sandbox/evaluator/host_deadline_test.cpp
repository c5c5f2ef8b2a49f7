// SPDX-License-Identifier: Apache-2.0
// Contract `host`: a candidate that uses up the evaluation's deadline gets a verdict. With a
// failure of ours it would get no reward at all, which a losing candidate would choose.
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::seconds;
using test::honest_forward;
using test::model_new;
using ::testing::StartsWith;

class HostDeadlineTest : public test::HostJudged {
 protected:
  /// The judgement with a deadline this short.
  static std::string outcome(const FileSet& files, seconds within) {
    const Judgement judgement = judge(files, Request::verify, test::centred_code, within);
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      return std::string(to_string(failure->kind)) + ": " + failure->detail;
    }
    return std::get<Verdict>(judgement).feedback;
  }
  /// Starts the worker and measures the task, so that the rest of the time is the candidate's.
  void SetUp() override {
    test::HostJudged::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(verdict(model_new(honest_forward)).outcome, VerdictClass::passed);
  }
};

TEST_F(HostDeadlineTest, ASlowImportAndSlowCallsAreATimeout) {
  const FileSet slow{{"model_new.py", model_new(std::string("time.sleep(2.5); ") + honest_forward,
                                                "import time\ntime.sleep(12)\n")}};
  EXPECT_THAT(outcome(slow, seconds{20}), StartsWith("timeout: "));
}

TEST_F(HostDeadlineTest, AnEndlessTemplateIsATimeout) {
  const FileSet endless{
      {"model_new.py", model_new("return x", "import cuda_extension\n")},
      {"kernels/centre_binding.cpp",
       "template <int N, int M> struct F {\n"
       "  static constexpr unsigned v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v;\n"
       "};\n"
       "template <int M> struct F<0, M> { static constexpr unsigned v = M; };\n"
       "int endless() { return F<30, 0>::v; }\n"}};
  EXPECT_THAT(outcome(endless, seconds{16}), StartsWith("timeout: "));
}

/// Each candidate needs a process that imports torch.
TEST_F(HostDeadlineTest, WarmingUpTheProcessGivesNoVerdict) {
  const FileSet honest{{"model_new.py", model_new(honest_forward)}};
  EXPECT_THAT(outcome(honest, seconds{1}), StartsWith("infra_deadline: "));
}

}  // namespace
}  // namespace warpsmith::sandbox

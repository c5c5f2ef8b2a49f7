// SPDX-License-Identifier: Apache-2.0
// Contract `host`: a candidate that uses up the evaluation's deadline gets a verdict. An internal
// failure would mean no reward at all, which a losing candidate would prefer.
#include <functional>
#include <initializer_list>

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
  /// The judgement of a candidate that outlasts each deadline, with the next longer one if the
  /// machine by itself used up too much of the last.
  static std::string outcome_of_slow(const std::function<FileSet(seconds)>& lasting,
                                     std::initializer_list<seconds> deadlines) {
    std::string text;
    for (const seconds within : deadlines) {
      settle();
      text = outcome(lasting(within), within);
      if (!text.starts_with("infra_deadline")) break;
    }
    return text;
  }
  /// Waits until the next candidate's process has imported torch.
  static void settle() {
    const Task task{
        .id = "task", .code = test::centred_code, .content_hash = sha256_hex(test::centred_code)};
    ASSERT_TRUE(evaluator()->ingest(task, Deadline::after(seconds{900})));
  }
  /// Starts the worker and measures the task, so that the rest of the time is the candidate's.
  void SetUp() override {
    test::HostJudged::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(verdict(model_new(honest_forward)).outcome, VerdictClass::passed);
  }
};

TEST_F(HostDeadlineTest, ASlowImportAndSlowCallsAreATimeout) {
  const auto slow = [](seconds within) -> FileSet {
    const std::string import_s = std::to_string(within.count() * 3 / 5);
    return {{"model_new.py", model_new(std::string("time.sleep(2.5); ") + honest_forward,
                                       "import time\ntime.sleep(" + import_s + ")\n")}};
  };
  // An import may take 30 s.
  EXPECT_THAT(outcome_of_slow(slow, {seconds{20}, seconds{30}, seconds{45}}),
              StartsWith("timeout: "));
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
  const auto same = [&](seconds) -> const FileSet& { return endless; };
  EXPECT_THAT(outcome_of_slow(same, {seconds{16}, seconds{32}, seconds{50}}),
              StartsWith("timeout: "));
}

/// Each candidate needs a process that imports torch.
TEST_F(HostDeadlineTest, WarmingUpTheProcessGivesNoVerdict) {
  const FileSet honest{{"model_new.py", model_new(honest_forward)}};
  EXPECT_THAT(outcome(honest, seconds{1}), StartsWith("infra_deadline: "));
}

}  // namespace
}  // namespace warpsmith::sandbox

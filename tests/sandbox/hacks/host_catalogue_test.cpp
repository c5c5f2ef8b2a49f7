// SPDX-License-Identifier: Apache-2.0
// Reward hacks of contract `host`, on the CPU or (WARPSMITH_ON_GPU) on the first GPU: each gets the
// right verdict, and the honest solution after it passes. host/README.md lists the entries that the
// contract makes impossible; judge/host_hacks_test.cpp checks more than the class of some hacks.
#include <thread>

#include "sandbox/jail/jail_limits.hpp"
#include "tests/sandbox/support/host_fixture.hpp"
#include "tests/sandbox/support/submissions.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr bool on_gpu = WARPSMITH_ON_GPU;
// Paired ratios to the same baseline; the slack covers noise.
constexpr double most_gained = on_gpu ? 1.25 : 1.5;

/// The task's code with enough rows for a measurable time of each call.
std::string code_of(const std::string& name) {
  std::string code = testing::hack_task(name).code;
  for (const auto& [few, many] : {std::pair("randn(512,", "randn(65536,"),
                                  {"randn(128,", "randn(8192,"},
                                  {"randn(1024,", "randn(65536,"}}) {
    if (on_gpu && code.find(few) != std::string::npos) code = test::with(code, few, many);
  }
  return code;
}

double speedup_of(const Verdict& verdict) {
  return verdict.shapes.empty() ? 0 : verdict.shapes.front().speedup_eager.value_or(0);
}

class HostCatalogueTest : public test::HostJudged,
                          public ::testing::WithParamInterface<std::string> {
 protected:
  /// The last core: hacks_test.cpp may hold the first one meanwhile.
  static void SetUpTestSuite() {
    on_gpu ? open_on_gpu() : open_on(static_cast<int>(std::thread::hardware_concurrency()) - 1);
  }
  /// Empty if the machine was too noisy to time the task.
  static std::optional<Verdict> judged(const std::string& task, const std::string& name,
                                       Request want) {
    Judgement judgement = judge(testing::of_host.files(name), want, code_of(task));
    const auto* failure = std::get_if<InfraFailure>(&judgement);
    if (failure == nullptr) return std::get<Verdict>(std::move(judgement));
    EXPECT_EQ(failure->kind, InfraKind::noise) << name << ": " << failure->detail;
    return std::nullopt;
  }
};

TEST_P(HostCatalogueTest, GetsTheRightVerdictAndHarmsNoOther) {
  const testing::Expectation expected = testing::of_host.expectation(GetParam());
  if (const auto here = probe_cgroups(); expected.needs_cgroups && !here) {
    GTEST_SKIP() << here.error().message;
  }
  const auto verdict = judged(expected.task, GetParam(), expected.want);
  if (verdict) std::printf("feedback: %s\n", verdict->feedback.substr(0, 300).c_str());
  const auto after = judged(expected.task, "honest/" + expected.task, expected.want);
  if (!verdict || !after) GTEST_SKIP() << "the machine was too noisy to time it";
  const auto& right = on_gpu ? expected.gpu : expected.software;
  EXPECT_TRUE(right.contains(std::string(to_string(verdict->outcome)))) << verdict->feedback;
  EXPECT_EQ(after->outcome, VerdictClass::passed) << after->feedback;
  if (expected.no_faster_than_honest && verdict->correct()) {
    EXPECT_LT(speedup_of(*verdict), most_gained * speedup_of(*after)) << verdict->feedback;
  }
}

std::vector<std::string> hacks(bool timed) {
  return testing::of_host.hacks([&](const auto& expected) {
    return (on_gpu || !expected.needs_gpu) && timed == testing::is_timed(expected);
  });
}
INSTANTIATE_TEST_SUITE_P(Verified, HostCatalogueTest, ::testing::ValuesIn(hacks(false)),
                         [](const auto& hack) { return hack.param; });
INSTANTIATE_TEST_SUITE_P(Timed, HostCatalogueTest, ::testing::ValuesIn(hacks(true)),
                         [](const auto& hack) { return hack.param; });

}  // namespace
}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Every reward hack with a meaning on a CPU gets the right verdict, and the honest kernel after it
// passes. Each folder here has one: kernel.cpp, and `expect` with the task, the request and the
// right verdicts. WARPSMITH_HONEST_REPETITIONS=200 judges honest kernels that often in total,
// spread evenly over them (2 each without it).
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "runtime/environment.hpp"
#include "sandbox/jail/jail_limits.hpp"
#include "sandbox/service/client.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/submissions.hpp"
#include "tests/support/after_all_tests.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::hacks_folder;
using testing::in_seconds;
using testing::is_timed;
using testing::of_cpu;

std::string interpreter() {
  return python_interpreter().string();
}

/// Its suites share one service unless a hack ends it.
class Judged : public ::testing::Test {
 public:
  static void let_go() { service().reset(); }

 protected:
  void SetUp() override {
    if (interpreter().empty() || !fs::exists(interpreter())) {
      GTEST_SKIP() << "no Python environment: set WARPSMITH_PYTHON";
    }
    if (service() && !service()->lost()) return;
    SandboxOptions options;
    options.program = testing::sandbox_program();
    options.python = interpreter();
    options.cache_dir = WARPSMITH_TEST_CACHE;
    options.core = 0;
    options.settings.candidate_memory_bytes = 512U << 20U;
    auto client = Client::start(options, in_seconds(60));
    ASSERT_TRUE(client) << client.error().message;
    service().emplace(std::move(*client));
  }
  static std::optional<Client>& service() {
    static std::optional<Client> client;
    return client;
  }
  static Judgement judge(const std::string& task, const fs::path& kernel, Request want) {
    EvaluateRequest request;
    request.task =
        testing::task_with(task, testing::text_of("configs/tasks/cpu/train/" + task + ".py"));
    request.submission.task_id = task;
    request.submission.files = {{"kernel.cpp", testing::text_of(kernel)}};
    request.want = want;
    return service()->evaluate(request, in_seconds(300));
  }
  static std::string text_of_judgement(const Judgement& judgement) {
    if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
      return std::string(to_string(verdict->outcome)) + " (" + verdict->feedback + ")";
    }
    const auto& failure = std::get<InfraFailure>(judgement);
    return std::string(to_string(failure.kind)) + " (" + failure.detail + ")";
  }
  static double speedup_of(const Judgement& judgement) {
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr || verdict->shapes.empty()) return 0;
    return verdict->shapes.front().speedup_eager.value_or(0);
  }
};

const bool registered = test_support::after_all_tests(Judged::let_go);

class HackTest : public Judged, public ::testing::WithParamInterface<std::string> {};

TEST_P(HackTest, GetsTheRightVerdictAndHarmsNoOther) {
  const fs::path folder = hacks_folder / GetParam();
  const testing::Expectation expected = of_cpu.expectation(GetParam());
  if (const auto here = probe_cgroups(); expected.needs_cgroups && !here) {
    GTEST_SKIP() << here.error().message;
  }
  const Judgement judgement = judge(expected.task, folder / "kernel.cpp", expected.want);
  const auto* verdict = std::get_if<Verdict>(&judgement);
  ASSERT_NE(verdict, nullptr) << text_of_judgement(judgement);
  EXPECT_TRUE(expected.software.contains(std::string(to_string(verdict->outcome))))
      << text_of_judgement(judgement);

  const fs::path honest = hacks_folder / "honest" / (expected.task + ".cpp");
  const Judgement after = judge(expected.task, honest, expected.want);
  const auto* honest_verdict = std::get_if<Verdict>(&after);
  ASSERT_NE(honest_verdict, nullptr) << text_of_judgement(after);
  EXPECT_EQ(honest_verdict->outcome, VerdictClass::passed) << text_of_judgement(after);
  // Paired ratios to the same baseline; the slack covers the noise of a loaded machine.
  if (expected.no_faster_than_honest && verdict->correct()) {
    EXPECT_LT(speedup_of(judgement), 1.5 * speedup_of(after))
        << text_of_judgement(judgement) << " against " << text_of_judgement(after);
  }
}

std::vector<fs::path> honest_kernels() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(hacks_folder / "honest")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The total number, at least one per kernel.
size_t honest_repetitions(size_t kernels) {
  const char* text = std::getenv("WARPSMITH_HONEST_REPETITIONS");
  if (text == nullptr) return 2 * kernels;
  const std::string_view digits = text;
  size_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc{} || end != digits.data() + digits.size() || count > 10'000) {
    throw std::runtime_error("WARPSMITH_HONEST_REPETITIONS: expected a number up to 10000, got " +
                             std::string(digits));
  }
  return std::max(count, kernels);
}

class HonestKernelTest : public Judged {};

TEST_F(HonestKernelTest, PassesEveryTime) {
  const std::vector<fs::path> kernels = honest_kernels();
  const size_t repetitions = honest_repetitions(kernels.size());
  size_t passed = 0;
  for (size_t i = 0; i < repetitions; ++i) {
    const fs::path& kernel = kernels[i % kernels.size()];
    const Judgement judgement = judge(kernel.stem(), kernel, Request::final);
    const auto* verdict = std::get_if<Verdict>(&judgement);
    const bool right = verdict != nullptr && verdict->outcome == VerdictClass::passed;
    EXPECT_TRUE(right) << kernel << ", repetition " << i << ": " << text_of_judgement(judgement);
    passed += right ? 1 : 0;
  }
  std::printf("%zu of %zu honest repetitions passed, over %zu kernels\n", passed, repetitions,
              kernels.size());
}

std::vector<std::string> hacks(bool timed) {
  return of_cpu.hacks([&](const auto& expected) { return timed == is_timed(expected); });
}
INSTANTIATE_TEST_SUITE_P(Verified, HackTest, ::testing::ValuesIn(hacks(false)),
                         [](const auto& hack) { return hack.param; });
INSTANTIATE_TEST_SUITE_P(Timed, HackTest, ::testing::ValuesIn(hacks(true)),
                         [](const auto& hack) { return hack.param; });

}  // namespace
}  // namespace warpsmith::sandbox

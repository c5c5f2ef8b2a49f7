// SPDX-License-Identifier: Apache-2.0
// One source of delay after another uses up the deadline. Only the candidate's own slowness gives a
// verdict; an honest kernel gets `infra_deadline`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/contract/contract.hpp"
#include "tests/sandbox/support/evaluator_options.hpp"
#include "tests/support/after_all_tests.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::StartsWith;

/// Where contract `cpu` returns only when the evaluation's deadline has passed.
enum class Step : uint8_t { none, build, warm_up, start };
Step slow_step = Step::none;
int delays = 0;

/// Waits until the evaluation's deadline has passed if the step is slow. Returns the deadline for
/// what the step itself does.
Deadline delayed(Step step, Deadline deadline) {
  if (slow_step == step && !deadline.passed()) {
    std::this_thread::sleep_for(deadline.left() + milliseconds{1});
    ++delays;
  }
  return Deadline::after(seconds{60});
}

class DelayedCandidate final : public Candidate {
 public:
  explicit DelayedCandidate(std::unique_ptr<Candidate> candidate)
      : candidate_(std::move(candidate)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    return candidate_->start(place, delayed(Step::start, deadline));
  }
  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& task,
                                                 const TaskSignature& signature) override {
    return candidate_->for_sizes(task, signature);
  }

 private:
  std::unique_ptr<Candidate> candidate_;
};

class DelayedContract final : public Contract {
 public:
  explicit DelayedContract(std::unique_ptr<Contract> contract) : contract_(std::move(contract)) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override {
    delayed(Step::build, deadline);
    auto build = contract_->build(context, deadline);
    if (!build || !build->candidate) return build;
    build->candidate = std::make_unique<DelayedCandidate>(std::move(*build->candidate));
    return build;
  }
  OrFailure<void> warm_up(Deadline deadline) override {
    return contract_->warm_up(delayed(Step::warm_up, deadline));
  }

 private:
  std::unique_ptr<Contract> contract_;
};

const ContractEntry& delayed_contract() {
  static const ContractEntry entry = [] {
    ContractEntry made = contract_named("cpu");
    made.open = [](const ContractSlot& slot) -> Result<std::unique_ptr<Contract>> {
      auto opened = contract_named("cpu").open(slot);
      if (!opened) return opened;
      return std::make_unique<DelayedContract>(std::move(*opened));
    };
    return made;
  }();
  return entry;
}

constexpr const char* header =
    "#include <cstdint>\nextern \"C\" void solve(const void* const* in, void* const* out, "
    "const int64_t*) {\n"
    "  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n";

/// Doubles its input, as the task does.
const std::string honest =
    std::string(header) + "  for (int i = 0; i < 64 * 64; ++i) y[i] = 2 * x[i];\n}\n";
const std::string endless =
    std::string(header) + "  for (volatile int i = 0;; ) i = 1;\n  y[0] = x[0];\n}\n";
const std::string endless_template =
    "template <int N, int M> struct F {\n"
    "  static constexpr unsigned v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v;\n"
    "};\n"
    "template <int M> struct F<0, M> { static constexpr unsigned v = M; };\n" +
    std::string(header) + "  y[0] = x[0] + F<30, 0>::v;\n}\n";

const std::string task_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
)";

/// `least`: what a candidate may take before the deadline's passing is its own fault.
struct Limits {
  milliseconds least{10'000}, compile{30'000};
};
constexpr milliseconds little{500};

std::string text_of(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr ? std::string(to_string(failure->kind)) + ": " + failure->detail
                            : std::get<Verdict>(judgement).feedback;
}

class DelayTest : public ::testing::Test {
 public:
  static void close() { evaluator.reset(); }

 protected:
  static std::unique_ptr<Evaluator> open(Limits limits = {}) {
    SandboxOptions options = test::evaluator_options();
    options.core = 0;
    options.settings.call_timeout = limits.least;
    options.settings.compile_timeout = limits.compile;
    static const ContractList contracts{&delayed_contract()};
    auto opened = Evaluator::open(options, contracts);
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::make_unique<Evaluator>(std::move(*opened));
  }
  static EvaluateRequest request(const std::string& source, Request want, const std::string& code) {
    EvaluateRequest request;
    request.task = {.id = "task", .code = code, .content_hash = sha256_hex(code)};
    request.submission = {.task_id = "task", .files = {{"kernel.cpp", source}}};
    request.want = want;
    return request;
  }
  /// The verdict or the failure, as text.
  static std::string judged(const std::string& source, milliseconds within,
                            Request want = Request::verify, const std::string& code = task_code) {
    return text_of(evaluator->evaluate(request(source, want, code), Deadline::after(within)));
  }

  /// What `judged` says of ever more time, from `within` on, until it begins with `expected`: the
  /// machine may stand still until the deadline.
  template <class Judge>
  static std::string once_reached(const std::string& expected, milliseconds within, Judge judge) {
    std::string text = judge(within);
    while (!text.starts_with(expected) && within < seconds{30}) {
      warm();
      within *= 2;
      text = judge(within);
    }
    return text;
  }

  /// Compiles the honest kernel, starts the worker and measures the task. What is left to do takes
  /// less than `little` unless the machine freezes.
  static void warm() {
    slow_step = Step::none;
    ASSERT_THAT(judged(honest, seconds{240}), StartsWith("passed"));
  }
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    if (evaluator == nullptr) evaluator = open();
    warm();
  }

  static std::unique_ptr<Evaluator> evaluator;
};
std::unique_ptr<Evaluator> DelayTest::evaluator;
const bool registered = test_support::after_all_tests(DelayTest::close);

TEST_F(DelayTest, SlowStepsOfTheContractGiveNoVerdict) {
  for (const Step step : {Step::warm_up, Step::start, Step::build}) {
    delays = 0;
    for (milliseconds within = little; delays == 0 && within < seconds{60}; within *= 2) {
      warm();
      slow_step = step;
      EXPECT_THAT(judged(honest, within), StartsWith("infra_deadline"));
    }
    EXPECT_EQ(delays, 1) << "step " << static_cast<int>(step);
  }
}

TEST_F(DelayTest, WaitingForTheCoreGivesNoVerdict) {
  const std::string expected = "infra_deadline: task: device core-0";
  const auto beside_other = [](milliseconds within) {
    // Tests that run next to this one may measure on the core.
    const auto other =
        DeviceLease::acquire(default_lease_folder, core_device(0), Deadline::after(seconds{120}));
    return other ? judged(honest, within) : other.error().message;
  };
  EXPECT_THAT(once_reached(expected, little, beside_other), StartsWith(expected));
}

TEST_F(DelayTest, StartingTheWorkerGivesNoVerdict) {
  const std::string expected = "infra_deadline: task: start: ";
  const auto by_fresh = [](milliseconds within) {
    return text_of(
        open()->evaluate(request(honest, Request::verify, task_code), Deadline::after(within)));
  };
  EXPECT_THAT(once_reached(expected, little, by_fresh), StartsWith(expected));
}

TEST_F(DelayTest, LoadingTheTaskGivesNoVerdict) {
  const std::string sleeping = "import time\ntime.sleep(60)\n" + task_code;
  const std::string expected = "infra_deadline: task: loading: ";
  const auto loading = [&](milliseconds within) {
    return judged(honest, within, Request::verify, sleeping);
  };
  EXPECT_THAT(once_reached(expected, little, loading), StartsWith(expected));
}

TEST_F(DelayTest, MeasuringTheTaskGivesNoVerdict) {
  const std::string expected = "infra_deadline: task: ";
  const auto measuring = [](milliseconds within) {
    const std::string unknown =
        "# not measured yet, within " + std::to_string(within.count()) + "\n" + task_code;
    return judged(honest, within, Request::verify, unknown);
  };
  EXPECT_THAT(once_reached(expected, little, measuring), StartsWith(expected));
}

TEST_F(DelayTest, CompilingBaselinesGivesNoVerdict) {
  const std::string expected = "infra_deadline: task: ";
  const auto compiling = [](milliseconds within) { return judged(honest, within, Request::final); };
  EXPECT_THAT(once_reached(expected, little, compiling), StartsWith(expected));
}

TEST_F(DelayTest, AKernelThatUsesUpItsOwnLimitTimesOut) {
  EXPECT_THAT(judged(endless, seconds{60}), StartsWith("timeout: set 1 "));
}

TEST_F(DelayTest, ASourceThatUsesUpTheCompilersLimitTimesOut) {
  const auto strict = open({.compile = seconds{4}});
  const Judgement judgement = strict->evaluate(
      request(endless_template, Request::compile, task_code), Deadline::after(seconds{60}));
  EXPECT_THAT(text_of(judgement), StartsWith("timeout: compiling took too long: "));
}

TEST_F(DelayTest, ASourceThatUsesUpTheDeadlineTimesOut) {
  const auto strict = open({.least = seconds{1}});
  const std::string expected = "timeout: its compilation, import and calls took ";
  const auto by_strict = [&](milliseconds within) {
    return text_of(strict->evaluate(request(endless_template, Request::verify, task_code),
                                    Deadline::after(within)));
  };
  EXPECT_THAT(once_reached(expected, seconds{2}, by_strict), StartsWith(expected));
}

}  // namespace
}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Whole evaluations of contract `device` without a GPU: the CPU's bench and reference worker, and
// the jailed launcher on the software device, which keeps variables (`software` lines of `expect`).
#include <gtest/gtest.h>

#include <memory>

#include "runtime/environment.hpp"
#include "runtime/random_stream.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/judge/decision.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/reference/ragged.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/software_device/software_device.hpp"
#include "tests/sandbox/support/software_device/software_kernels.hpp"
#include "tests/sandbox/support/submissions.hpp"
#include "tests/support/after_all_tests.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::compile_software_kernels;
using testing::Expectation;
using testing::in_seconds;

constexpr int core = 0;
constexpr SandboxSettings settings;

/// An evaluation that gave no outcome.
struct Failed : std::runtime_error {
  explicit Failed(const Failure& failure)
      : std::runtime_error(failure.message), blame(failure.blame) {}
  Blame blame;
};

template <class T, class E>
T value_of(tl::expected<T, E> result) {
  if (!result) throw Failed(result.error());
  return std::move(*result);
}

struct Asked {
  bool timed = false;
  bool made_ready = true;
  FurtherBaselines* further = nullptr;
  cuda::ClockReader* clocks = nullptr;
  std::chrono::milliseconds long_timing{5'000};
  bool loads = true;  // false: the kernels' library cannot be loaded
  AcquireLease lease;
  CheckDevice check_device;
  std::chrono::milliseconds within{120'000};  // the evaluation's deadline
};

/// A board whose clock falls by 15 MHz from reading to reading.
class FallingClocks final : public cuda::ClockReader {
 public:
  cuda::ClockSample read() override {
    mhz_ -= 15;
    return {.sm_mhz = mhz_, .reasons = 0x4};
  }

 private:
  int mhz_ = 1995;
};

/// One slot, with its records of tasks.
class SoftwareSlot {
 public:
  SoftwareSlot()
      : worker_(value_of(ReferenceWorker::start(
            {.python = python_interpreter().string(),
             .cache_folder = test_support::with_shared_baselines(folder_.path()),
             .core = core},
            in_seconds(120)))),
        compiler_(value_of(CpuCompiler::create({.cache_dir = folder_.path()}))),
        machine_(known_machine(folder_.path())),
        launchers_({.program = testing::software_launcher_program(),
                    .core = core,
                    .calibration_calls = 16}) {}

  Decision judge(const Task& task, const FileSet& files, const Asked& asked) {
    const CorePin pin(core);
    const IngestRecord& record = record_of(task);
    const TaskSignature& signature = record.facts.signature;
    const auto plan = device_plan(files);
    if (!plan) return refused(plan.error());
    const auto bound = bind_plan(*plan, signature, {.lane = task.lane});
    if (!bound) return {.outcome = VerdictClass::compile_error, .feedback = bound.error().message};
    Compiled compiled;
    if (launches_kernels(*plan)) {
      compiled = value_of(compile_software_kernels(compiler_, files, *bound, in_seconds(60)));
    }
    if (compiled.failure) return refused(compiled);
    if (asked.further != nullptr && asked.made_ready) {
      (void)value_of(
          wrapped(prepare_baselines(worker_, task, *asked.further, in_seconds(120), {})));
    }
    return evaluate(task, record, *bound, asked.loads ? compiled.artefact : "no library", asked);
  }

  /// The measurements of the last evaluation.
  const Measurements& measured() const { return measured_; }
  const std::optional<ClockRecord>& clocks() const { return clocks_; }
  bool lacks_worker() { return !worker_.alive(); }  // a passed deadline ends it

 private:
  static OrFailure<int> wrapped(OrFailure<void> done) {
    if (!done) return tl::unexpected(std::move(done.error()));
    return 0;
  }
  static Decision refused(const Compiled& compiled) {
    return {.outcome = compiled.failure.value(), .feedback = compiled.text};
  }

  const IngestRecord& record_of(const Task& task) {
    const auto found = records_.find(task.id);
    if (found != records_.end()) return found->second;
    IngestRecord record =
        value_of(ingest_task({worker_, machine_, task, settings}, in_seconds(240)));
    if (!record.refusal.empty()) throw std::runtime_error(task.id + ": " + record.refusal);
    return records_.emplace(task.id, std::move(record)).first->second;
  }

  /// The submissions of one task are judged one after another in the same memory.
  Bench& bench_of(const Task& task, const TaskSignature& signature) {
    if (bench_task_ == task.content_hash) return *bench_;
    bench_.reset();
    bench_ = value_of(HostBench::create(signature, memory_));
    bench_task_ = task.content_hash;
    return *bench_;
  }

  Decision evaluate(const Task& task, const IngestRecord& record, const BoundPlan& plan,
                    const std::string& artefact, const Asked& asked) {
    Bench& bench = bench_of(task, record.facts.signature);
    const CandidateMemory memory = bench.candidate_memory();
    const SecretSeed seed = value_of(draw_seed());
    const auto start = [&](Deadline /*by*/) -> OrFailure<Contestant> {
      auto launcher = start_device_contestant(launchers_,
                                              {.plan = plan,
                                               .artefact = artefact,
                                               .layout = memory.layout,
                                               .inputs_fd = memory.inputs,
                                               .outputs_fd = memory.outputs,
                                               .input_bytes = memory.input_bytes,
                                               .output_bytes = memory.output_bytes},
                                              in_seconds(60));
      if (!launcher) return tl::unexpected(std::move(launcher.error()));
      return std::move(launcher->contestant);
    };
    EvaluationOutcome outcome = value_of(run_evaluation({.task = task,
                                                         .record = record,
                                                         .bench = bench,
                                                         .seed = seed,
                                                         .worker = worker_,
                                                         .settings = settings,
                                                         .start_candidate = start,
                                                         .lease = asked.lease,
                                                         .check_device = asked.check_device,
                                                         .long_timing = asked.long_timing,
                                                         .timed = asked.timed,
                                                         .further = asked.further,
                                                         .clocks = asked.clocks},
                                                        Deadline::after(asked.within)));
    measured_ = std::move(outcome.measured);
    clocks_ = std::move(outcome.clocks);
    RandomStream random(seed.seed, "bootstrap");
    return decide(measured_, record.facts, wanted_sets(settings), random);
  }

  test_support::TemporaryFolder folder_;
  ReferenceWorker worker_;
  CpuCompiler compiler_;
  Machine machine_;
  LauncherPool launchers_;
  BenchMemory memory_;
  std::unique_ptr<Bench> bench_;
  std::string bench_task_;  // its content
  std::map<std::string, IngestRecord> records_;
  Measurements measured_;
  std::optional<ClockRecord> clocks_;
};

/// All suites share one slot, so that the worker starts once and each task is measured once.
class SoftwareEvaluationTest : public ::testing::Test {
 public:
  static void close() { slot.reset(); }

 protected:
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    if (slot == nullptr || slot->lacks_worker()) slot = std::make_unique<SoftwareSlot>();
  }

  /// On a loaded machine the times may be too noisy to decide.
  static Decision judge(const std::string& task, const FileSet& files, Request want) {
    Decision decision =
        slot->judge(testing::hack_task(task), files, {.timed = want == Request::final});
    if (decision.outcome != VerdictClass::unstable_timing) return decision;
    decision.outcome = VerdictClass::passed;  // all outputs were right, timed ones too
    return decision;
  }

  static std::unique_ptr<SoftwareSlot> slot;
};
std::unique_ptr<SoftwareSlot> SoftwareEvaluationTest::slot;
const bool slot_registered = test_support::after_all_tests(SoftwareEvaluationTest::close);

TEST_F(SoftwareEvaluationTest, PassesPlansOfKernelsProductsMemsetsAndCopies) {
  for (const char* task : {"centred_rows", "centred_linear"}) {
    const Decision decision = judge(task, testing::of_device.honest(task), Request::final);
    EXPECT_EQ(decision.outcome, VerdictClass::passed) << task << ": " << decision.feedback;
  }
}

TEST_F(SoftwareEvaluationTest, TimesFurtherBaselinesInEachBlockAndReadsTheClocksAroundIt) {
  const std::string task = "centred_linear";
  FurtherBaselines further({Baseline::tuned, Baseline::graphed});
  FallingClocks clocks;
  const Decision decision = slot->judge(testing::hack_task(task), testing::of_device.honest(task),
                                        {.timed = true, .further = &further, .clocks = &clocks});
  ASSERT_TRUE(slot->measured().timings) << decision.feedback;
  const Timings& timings = *slot->measured().timings;
  ASSERT_EQ(timings.blocks.size() % static_cast<size_t>(cycle_of(4)), 0U);
  for (const TimedBlock& block : timings.blocks) {
    EXPECT_EQ(block.order.size(), 4U);
    EXPECT_NE(std::ranges::find(block.order, Implementation::tuned), block.order.end());
    EXPECT_GT(block.further_ms.at(Baseline::tuned), 0);
  }
  ASSERT_EQ(decision.shape.further.size(), 2U);
  EXPECT_GT(decision.shape.further[0].ms.value_or(0), 0);
  EXPECT_EQ(decision.shape.further[1].reason, "a CPU has no graphs");
  ASSERT_TRUE(slot->clocks());
  EXPECT_EQ(slot->clocks()->samples.size(), timings.blocks.size() + 1);
  EXPECT_EQ(slot->clocks()->samples.front().sm_mhz, 1980);
}

/// A call takes some tens of milliseconds; eager takes 0.1 ms.
FileSet slow_files(const std::string& task) {
  FileSet files = testing::of_device.honest(task);
  std::string& kernels = files.at("kernels.cu");
  const std::string loop =
      "  if (row == 0) for (volatile int i = 0; i < 20000000; i = i + 1) continue;\n";
  kernels.insert(kernels.find("  x += "), loop);
  return files;
}

TEST_F(SoftwareEvaluationTest, TimesAHopelesslySlowKernelInFewBlocksAndPassesIt) {
  const Task task = testing::hack_task("centred_rows");
  const Decision decision = slot->judge(
      task, slow_files(task.id), {.timed = true, .long_timing = std::chrono::milliseconds{1}});
  EXPECT_EQ(decision.outcome, VerdictClass::passed) << decision.feedback;
  ASSERT_TRUE(slot->measured().timings) << decision.feedback;
  const size_t blocks = slot->measured().timings->blocks.size();
  EXPECT_GE(blocks, 2U);
  EXPECT_LT(blocks, 8U) << "of a whole timing, at least";
  EXPECT_EQ(blocks % 2, 0U) << "a pair of mirrored blocks was cut";
  EXPECT_TRUE(slot->measured().timings->errors.right());
  ASSERT_TRUE(decision.shape.speedup_eager_interval);
  EXPECT_LT(decision.shape.speedup_eager_interval->high, 0.5);
}

/// The baseline was not made ready, so its first call fails.
TEST_F(SoftwareEvaluationTest, DropsAFurtherBaselineWhoseCallsFail) {
  const Task task = testing::hack_task("centred_rows");
  FurtherBaselines further({Baseline::graphed});
  const Decision decision = slot->judge(task, testing::of_device.honest(task.id),
                                        {.timed = true, .made_ready = false, .further = &further});
  ASSERT_TRUE(slot->measured().timings) << decision.feedback;
  EXPECT_GE(slot->measured().timings->blocks.size(), 8U);
  EXPECT_TRUE(slot->measured().timings->errors.right());
  ASSERT_EQ(decision.shape.further.size(), 1U);
  EXPECT_NE(decision.shape.further[0].reason.find("a CPU has no graphs"), std::string::npos)
      << decision.shape.further[0].reason;
}

TEST_F(SoftwareEvaluationTest, ACandidateFindsNoOutputsOfAnEarlierOne) {
  const std::string task = "centred_rows";
  ASSERT_EQ(judge(task, testing::of_device.honest(task), Request::verify).outcome,
            VerdictClass::passed);
  const Decision lazy = judge(task, testing::of_device.files("does_nothing"), Request::verify);
  EXPECT_EQ(lazy.outcome, VerdictClass::nonfinite) << lazy.feedback;
}

TEST_F(SoftwareEvaluationTest, ASubmissionFindsNoNoteOfAnEarlierOne) {
  const auto verify = [](const char* hack) {
    return judge("centred_rows", testing::of_device.files(hack), Request::verify);
  };
  const Decision left = verify("leaves_a_note");
  EXPECT_EQ(left.outcome, VerdictClass::oob_write) << left.feedback;
  const Decision found = verify("reads_a_note");
  EXPECT_EQ(found.outcome, VerdictClass::passed) << found.feedback;
}

TEST_F(SoftwareEvaluationTest, APlanIsBoundAgainOnHiddenSizes) {
  const Task ragged = ragged_task(testing::ragged_task_of_hacks()).value();
  FileSet files = testing::of_device.honest("centred_rows");
  const Decision honest = slot->judge(ragged, files, {.timed = false});
  EXPECT_EQ(honest.outcome, VerdictClass::passed) << honest.feedback;
  EXPECT_EQ(honest.shape.shape, "d0=301 d1=256");
  std::string& plan = files.at("plan.toml");
  plan.replace(plan.find("\"d0\", \"d1\""), 10, "\"256\", \"d1\"");
  const Decision fixed = slot->judge(ragged, files, {.timed = false});
  EXPECT_EQ(fixed.outcome, VerdictClass::nonfinite) << fixed.feedback;
}

/// A device that candidates hold in turns; counts its checks.
struct SharedDevice {
  test_support::TemporaryFolder folder;
  int checks = 0;
  bool well = true;

  bool taken() const {
    return !DeviceLease::acquire(folder.path(), "gpu", Deadline::after(std::chrono::milliseconds{}))
                .has_value();
  }
  Result<void> check() {
    ++checks;
    EXPECT_TRUE(taken()) << "another process could time during the check";
    if (!well) return fail(ErrorCode::process_failed, "computes wrongly");
    return {};
  }
  Asked asked(bool loads) {
    return {.loads = loads,
            .lease = [this](Deadline by) -> Result<std::optional<DeviceLease>> {
              return value_of(DeviceLease::acquire(folder.path(), "gpu", by));
            },
            .check_device = [this](Deadline) { return check(); }};
  }
};

TEST_F(SoftwareEvaluationTest, ADeviceIsCheckedBeforeItsReleaseIfTheCandidateEndedBadly) {
  const Task task = testing::hack_task("centred_rows");
  SharedDevice device;
  (void)slot->judge(task, testing::of_device.honest(task.id), device.asked(true));
  EXPECT_EQ(device.checks, 0);
  (void)slot->judge(task, testing::of_device.files("writes_far_away"), device.asked(true));
  EXPECT_EQ(device.checks, 1);
  (void)slot->judge(task, testing::of_device.honest(task.id), device.asked(false));
  EXPECT_EQ(device.checks, 2) << "also for a candidate that failed before it held the device";
  EXPECT_FALSE(device.taken());
  device.well = false;
  EXPECT_THROW(
      (void)slot->judge(task, testing::of_device.files("writes_far_away"), device.asked(true)),
      std::runtime_error);
  EXPECT_FALSE(device.taken());
}

/// The blame for an evaluation of an honest candidate that has no outcome.
Blame blame_of(SoftwareSlot& slot, const Asked& asked) {
  const Task task = testing::hack_task("centred_rows");
  try {
    const Decision decision = slot.judge(task, testing::of_device.honest(task.id), asked);
    ADD_FAILURE() << decision.feedback;
  } catch (const Failed& failed) {
    return failed.blame;
  }
  return Blame::candidate;
}

TEST_F(SoftwareEvaluationTest, NoCandidateIsToBlameForADeadlineThatPassesBeforeItIsLoaded) {
  EXPECT_EQ(blame_of(*slot, {.within = std::chrono::milliseconds{0}}), Blame::deadline);
}

TEST_F(SoftwareEvaluationTest, NoCandidateIsToBlameForADeviceThatIsNotFreeInTime) {
  const auto busy = [](Deadline) { return fail(ErrorCode::timeout, "the device is not free"); };
  EXPECT_EQ(blame_of(*slot, {.lease = busy}), Blame::deadline);
}

TEST_F(SoftwareEvaluationTest, NoCandidateIsToBlameForADeviceThatIsFreeWhenTheDeadlineHasPassed) {
  const auto late = [](Deadline by) -> Result<std::optional<DeviceLease>> {
    while (!by.passed()) ::sched_yield();
    return std::nullopt;
  };
  EXPECT_EQ(blame_of(*slot, {.lease = late, .within = std::chrono::seconds{2}}), Blame::deadline);
}

class SoftwareHackTest : public SoftwareEvaluationTest,
                         public ::testing::WithParamInterface<std::string> {};

TEST_P(SoftwareHackTest, IsJudgedCorrectlyAndHarmsNoLaterCandidate) {
  const Expectation expected = testing::of_device.expectation(GetParam());
  const Decision decision =
      judge(expected.task, testing::of_device.files(GetParam()), expected.want);
  EXPECT_TRUE(expected.software.contains(std::string(to_string(decision.outcome))))
      << decision.feedback;
  const Decision after =
      judge(expected.task, testing::of_device.honest(expected.task), Request::verify);
  EXPECT_EQ(after.outcome, VerdictClass::passed) << after.feedback;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SoftwareHackTest,
                         ::testing::ValuesIn(testing::of_device.hacks([](const auto& expected) {
                           return !expected.needs_gpu && expected.want != Request::explain;
                         })),
                         [](const auto& hack) { return hack.param; });

}  // namespace
}  // namespace warpsmith::sandbox

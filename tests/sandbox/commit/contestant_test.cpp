// SPDX-License-Identifier: Apache-2.0
// Contestants: results, times and faults; a stopped one runs nothing.
#include "sandbox/commit/contestant.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/jail/jail_limits.hpp"
#include "sandbox/jail/process_state.hpp"
#include "sandbox/timing/call_meter.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::compile_kernel;
using testing::hang_guard;
using testing::in_seconds;

/// One float tensor in, one out, 1,024 elements.
class Bench {
 public:
  explicit Bench(const std::string& source, JailLimits limits = {})
      : inputs_(*SharedBuffers::inputs(layout())), outputs_(*SharedBuffers::outputs(layout())) {
    CpuContestantSpec spec{testing::sandbox_program(),
                           compile_kernel(source),
                           {1024},
                           candidate_memory(inputs_, outputs_),
                           0,
                           limits,
                           8};
    contestant_.emplace(start_cpu_contestant(spec, hang_guard()));
    if (!*contestant_) throw std::runtime_error(contestant_->error().message);
  }
  Contestant& contestant() { return **contestant_; }
  std::span<float> in(uint32_t set) const { return floats(inputs_.tensor(set, 0)); }
  std::span<float> out(uint32_t set) const { return floats(outputs_.tensor(set, 1)); }

 private:
  static BufferLayout layout() {
    TaskSignature signature;
    signature.tensors.push_back({"x", TensorRole::input, Dtype::f32, {1024}, {"n"}});
    signature.tensors.push_back({"y", TensorRole::output, Dtype::f32, {1024}, {"n"}});
    return make_layout(signature, 2);
  }
  static std::span<float> floats(std::span<std::byte> bytes) {
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  CorePin pin_{0};
  SharedBuffers inputs_, outputs_;
  std::optional<OrFailure<Contestant>> contestant_;
};

std::string kernel(const std::string& body, const std::string& before = "") {
  return "#include \"warpsmith.h\"\n" + before +
         "\nextern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims) "
         "{\n"
         "  const float* x = (const float*)in[0]; float* y = (float*)out[0]; int64_t n = "
         "dims[0];\n" +
         body + "\n(void)x; (void)y; (void)n; }\n";
}

/// The class of the fault that one call makes.
VerdictClass fault_of(const std::string& source, JailLimits limits = {}, int seconds = 60) {
  Bench bench(source, limits);
  CallResult result = bench.contestant().load(hang_guard());
  if (!result.fault) result = bench.contestant().call(0, in_seconds(seconds));
  EXPECT_TRUE(result.fault) << source;
  return result.fault ? result.fault->outcome : VerdictClass::passed;
}

TEST(ContestantTest, ComputesEachSetItIsGiven) {
  Bench bench(kernel("for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];"));
  ASSERT_FALSE(bench.contestant().load(hang_guard()).fault);
  for (uint32_t k = 0; k < 20; ++k) {
    for (float& value : bench.in(k % 2)) value = static_cast<float>(k);
    const CallResult result = bench.contestant().call(k % 2, hang_guard());
    ASSERT_FALSE(result.fault) << result.fault->detail;
    EXPECT_GT(result.elapsed.count(), 0);
    EXPECT_EQ(bench.out(k % 2)[1023], 2 * static_cast<float>(k));
  }
}

TEST(ContestantTest, IsStoppedBetweenCalls) {
  Bench bench(kernel("y[0] = x[0];"));
  ASSERT_FALSE(bench.contestant().load(hang_guard()).fault);
  ASSERT_FALSE(bench.contestant().call(0, hang_guard()).fault);
  const pid_t pid = bench.contestant().process().pid();
  const UniqueFd stat{
      ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)};
  EXPECT_TRUE(is_stopped(pid, stat.get()));
}

TEST(ContestantTest, RunsInAFullJailIfThereIsACgroup) {
  Bench bench(kernel("y[0] = x[0];"));
  const auto& report = bench.contestant().process().report();
  for (const auto& [primitive, in_force] : report) {
    RecordProperty(primitive, in_force);
  }
  // A machine may lack these, and its report says so.
  std::vector<std::string> lacking;
  if (report.at("core_account") == "none") lacking.emplace_back("core_account");
  if (!report.at("memory").starts_with("cgroup")) lacking.emplace_back("memory");
  EXPECT_EQ(missing_primitives(report), lacking);
}

TEST(ContestantTest, ClassifiesFaults) {
  EXPECT_EQ(fault_of(kernel("*(volatile int*)8 = 1;")), VerdictClass::device_fault);
  EXPECT_EQ(fault_of(kernel("__builtin_trap();")), VerdictClass::device_fault);
  EXPECT_EQ(fault_of(kernel("((float*)x)[3] = 1;")), VerdictClass::input_mutated);
  EXPECT_EQ(fault_of(kernel("for (int64_t i = 0; ; ++i) ((volatile float*)y)[i] = 1;")),
            VerdictClass::oob_write);
  EXPECT_EQ(fault_of(kernel("exit(0);", "extern \"C\" void exit(int);")),
            VerdictClass::device_fault);
  EXPECT_EQ(fault_of(kernel("while (true) asm volatile(\"\");"), {}, 2), VerdictClass::timeout);
  EXPECT_EQ(fault_of(kernel("throw 1;")), VerdictClass::device_fault);
}

TEST(ContestantTest, AKillFromOutsideIsNoFaultOfTheKernel) {
  Bench bench(kernel("y[0] = x[0];"));
  ASSERT_FALSE(bench.contestant().load(hang_guard()).fault);
  ASSERT_EQ(::kill(bench.contestant().process().pid(), SIGKILL), 0);
  const CallResult killed = bench.contestant().call(0, hang_guard());
  ASSERT_TRUE(killed.fault);
  EXPECT_EQ(killed.fault->blame, Blame::machine) << killed.fault->detail;

  // bubblewrap's exit codes for a signal.
  for (const char* code : {"137", "-119", "393"}) {
    Bench ending(kernel("_exit(" + std::string(code) + ");", "extern \"C\" void _exit(int);\n"));
    ASSERT_FALSE(ending.contestant().load(hang_guard()).fault);
    const CallResult ended = ending.contestant().call(0, hang_guard());
    ASSERT_TRUE(ended.fault);
    EXPECT_EQ(ended.fault->outcome, VerdictClass::device_fault);
    EXPECT_EQ(ended.fault->blame, Blame::candidate) << code;
  }

  Bench crashing(kernel("*(volatile int*)8 = 1;"));
  ASSERT_FALSE(crashing.contestant().load(hang_guard()).fault);
  const CallResult crashed = crashing.contestant().call(0, hang_guard());
  ASSERT_TRUE(crashed.fault);
  EXPECT_EQ(crashed.fault->blame, Blame::candidate);
}

TEST(ContestantTest, ATimeoutSaysHowLongItWas) {
  Bench bench(kernel("while (true) asm volatile(\"\");"));
  ASSERT_FALSE(bench.contestant().load(hang_guard()).fault);
  const CallResult result = bench.contestant().call(0, in_seconds(1));
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->detail, "the kernel did not return within 1 s");
}

TEST(ContestantTest, BlamesTheKernelForATimeoutOnlyAfterItsFullPatience) {
  constexpr std::chrono::milliseconds most{200};
  const auto blame = [](const Patience& patience) {
    Bench bench(kernel("while (true) asm volatile(\"\");"));
    EXPECT_FALSE(bench.contestant().load(hang_guard()).fault);
    return bench.contestant().call(0, patience).fault.value().blame;
  };
  EXPECT_EQ(blame({Blame::candidate, most, hang_guard()}), Blame::candidate);
  EXPECT_EQ(blame({Blame::candidate, 2 * most, Deadline::after(most)}), Blame::deadline);
}

TEST(ContestantTest, BlamesNoKernelBeforeItsCodeIsLoaded) {
  Bench bench(kernel("y[0] = x[0];"));
  (void)bench.contestant().process().kill();
  EXPECT_EQ(bench.contestant().warm_up(hang_guard()).fault.value().blame, Blame::machine);
}

TEST(ContestantTest, TheLimitOfCpuTimeIsATimeout) {
  JailLimits limits;
  limits.cpu = std::chrono::seconds{1};
  Bench bench(kernel("while (true) asm volatile(\"\");"), limits);
  ASSERT_FALSE(bench.contestant().load(hang_guard()).fault);
  const CallResult result = bench.contestant().call(0, hang_guard());
  ASSERT_TRUE(result.fault);
  EXPECT_EQ(result.fault->outcome, VerdictClass::timeout) << result.fault->detail;
  EXPECT_EQ(result.fault->detail, "the kernel used up its CPU time");
  EXPECT_EQ(result.fault->blame, Blame::candidate);
}

TEST(ContestantTest, NamesMemoryExhaustion) {
  if (const auto here = probe_cgroups(); !here) GTEST_SKIP() << here.error().message;
  const std::string hog = kernel(
      "for (int i = 0; i < 10240; ++i) { auto* p = new char[1 << 20]; memset(p, 1, 1 << 20); }");
  JailLimits limits;
  limits.memory_bytes = 256U << 20U;
  EXPECT_EQ(fault_of(hog, limits), VerdictClass::out_of_memory);
}

/// The code of the early_done hack around `work`.
std::string early_done_kernel(const std::string& work) {
  std::stringstream text;
  text << std::ifstream("tests/sandbox/hacks/early_done/kernel.cpp").rdbuf();
  const std::string all = text.str();
  return all.substr(0, all.find("  softmax((const float*)in[0]")) + work + "}\n";
}

TEST(CallMeterTest, ChargesWhatRunsAfterAnEarlyDone) {
  // A millisecond of its own time on the core (clock_gettime, CLOCK_THREAD_CPUTIME_ID).
  Bench bench(
      early_done_kernel("  long began[2], now[2];\n"
                        "  raw(228, 3, (long)began);\n"
                        "  do { raw(228, 3, (long)now); } while ((now[0] - began[0]) * "
                        "1000000000 + now[1] - began[1] < 1000000);\n"));
  Contestant& contestant = bench.contestant();
  if (contestant.process().report().at("core_account") == "none") {
    GTEST_SKIP() << "the kernel keeps no account of time on a core";
  }
  ASSERT_FALSE(contestant.load(hang_guard()).fault);
  const auto meter = CallMeter::by_core(contestant.process().pid(), contestant.noop());
  // The next call does, and is charged, what a stop interrupts; the last call's rest is lost.
  constexpr int calls = 20;
  double charged = 0;
  for (int i = 0; i <= calls; ++i) {
    const MeteredCall call = meter.measure([&] { return contestant.call(0, hang_guard()); });
    ASSERT_FALSE(call.fault) << call.fault->detail;
    charged += call.charged_ms;
  }
  EXPECT_GE(charged, 0.97 * calls);
}

}  // namespace
}  // namespace warpsmith::sandbox

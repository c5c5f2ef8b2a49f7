// SPDX-License-Identifier: Apache-2.0
// A candidate of contract `host` records what it runs: the protocol, on the CPU.
#include <gmock/gmock.h>

#include "sandbox/contract/host/host_runner.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/profile/baseline_kernels.hpp"
#include "sandbox/profile/record_file.hpp"
#include "tests/sandbox/support/host_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using ::testing::HasSubstr;

Deadline in_seconds(int seconds) {
  return Deadline::after(std::chrono::seconds{seconds});
}

TaskSignature centred_signature() {
  TaskSignature signature;
  signature.tensors = {
      {.name = "x", .role = TensorRole::input, .dtype = Dtype::f32, .shape = {512, 256}},
      {.name = "bias", .role = TensorRole::parameter, .dtype = Dtype::f32, .shape = {256}},
      {.name = "y", .role = TensorRole::output, .dtype = Dtype::f32, .shape = {512, 256}}};
  return signature;
}

class HostRecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
    bench_ = HostBench::create(signature_, bench_memory_).value();
    stage_ = bench_->make_stage().value();
    records_ = MemoryFile::create("records", record_file_bytes).value();
  }

  /// A loaded candidate, which records if `asked`.
  Contestant loaded(bool asked) {
    const std::string model = test::model_new(test::honest_forward);
    const auto submission = host_submission({{"model_new.py", model}}, 1U << 20U);
    const SandboxOptions options{.python = python_interpreter().string()};
    auto runner = HostRunner::start({options});
    if (!submission || !runner) throw std::runtime_error("no candidate");
    const Task task{.id = "centred", .code = test::centred_code};
    const std::string artefact;
    auto entered = std::move(*runner).enter({.submission = *submission,
                                             .artefact = artefact,
                                             .task = task,
                                             .signature = signature_,
                                             .stage = *stage_,
                                             .calibration_calls = 2,
                                             .records_fd = asked ? records_.fd() : -1},
                                            in_seconds(120));
    if (!entered) throw std::runtime_error(entered.error().message);
    EXPECT_FALSE(entered->load(in_seconds(120)).fault);
    EXPECT_FALSE(entered->call(0, in_seconds(120)).fault);
    return std::move(*entered);
  }

  const TaskSignature signature_ = centred_signature();
  BenchMemory bench_memory_;
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<CandidateStage> stage_;
  MemoryFile records_;
};

TEST_F(HostRecordingTest, ReturnsAReasonIfThereAreNoKernels) {
  Contestant candidate = loaded(true);
  const CallResult collected = candidate.collect(in_seconds(120));
  ASSERT_FALSE(collected.fault) << collected.fault->detail;
  (void)candidate.process().kill();
  const auto text = read_text(records_.bytes());
  ASSERT_TRUE(text) << text.error().message;
  const auto kernels = parse_reported_kernels(*text);
  ASSERT_FALSE(kernels);
  EXPECT_EQ(kernels.error().code, ErrorCode::unsupported);
  EXPECT_EQ(kernels.error().message, "a CPU's calls have no kernels");
}

TEST_F(HostRecordingTest, RecordsNothingUnlessAsked) {
  Contestant candidate = loaded(false);
  const CallResult collected = candidate.collect(in_seconds(120));
  ASSERT_TRUE(collected.fault);
  EXPECT_THAT(collected.fault->detail, HasSubstr("broke the protocol"));
}

}  // namespace
}  // namespace warpsmith::sandbox

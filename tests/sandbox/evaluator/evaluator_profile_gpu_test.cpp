// SPDX-License-Identifier: Apache-2.0
// The request `profile` on a GPU: the example's own kernels, and eager's and torch.compile's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/cuda/canary.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "sandbox/profile/profile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string text_of(const std::string& file) {
  auto text = read_text_file("configs/examples/rms_norm_linear/" + file, 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  return *text;
}

constexpr double product_flops = 2.0 * 256 * 1024 * 512;

/// Each party does the product, by instructions or on tensor cores, and reads at least the weight.
void expect_counted(const Json& party) {
  ASSERT_TRUE(party["uncounted"].is_null()) << party["uncounted"];
  double flops = 0, read = 0;
  for (const Json& kernel : party["kernels"]) {
    if (kernel["kind"] != "kernel") continue;
    const Json& counters = kernel["counters"];
    flops += counters["flops"].get<double>() + counters["tensor_flops"].get<double>();
    read += counters["dram_read_bytes"].get<double>();
    EXPECT_GT(counters["warps_active"], 0);
  }
  EXPECT_GE(flops, product_flops);
  EXPECT_LT(flops, 8 * product_flops);
  EXPECT_GT(read, 0.9 * 4 * 1024 * 512);
}

/// CUPTI refuses one jail or all; CudaRecordingTest checks it outside jails.
void expect_counted_alike(const Json& profile) {
  constexpr std::array parties{"candidate", "eager", "compile"};
  const auto refused = [&](const char* party) { return !profile[party]["uncounted"].is_null(); };
  if (std::ranges::all_of(parties, refused)) GTEST_SKIP() << profile["eager"]["uncounted"];
  for (const char* party : parties) expect_counted(profile[party]);
}

class EvaluatorProfileGpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    lacking = "no WARPSMITH_PYTHON";
    if (!std::filesystem::exists(python_interpreter())) return;
    const auto driver = cuda::Driver::load();
    lacking = driver ? "" : driver.error().message;
    if (!driver) return;
    folder = std::make_unique<test_support::TemporaryFolder>();
    auto opened = Evaluator::open({.program = WARPSMITH_TEST_RUNNER,
                                   .python = python_interpreter().string(),
                                   .cache_dir = folder->path().string(),
                                   .gpu = 0});
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
  }
  static void TearDownTestSuite() {
    evaluator.reset();
    folder.reset();
  }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << lacking;
  }

  static Verdict profiled(FileSet files, const Progress& progress = {}) {
    EvaluateRequest request;
    request.task = {
        .id = "rms_norm_linear", .code = text_of("reference.py"), .device = DeviceClass::cuda};
    request.submission = {request.task.id, "device", std::move(files)};
    request.want = Request::profile;
    evaluator->on_progress(progress);
    Judgement judgement = evaluator->evaluate(request, Deadline::after(std::chrono::seconds{300}));
    evaluator->on_progress({});
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      throw std::runtime_error(failure->detail);
    }
    return std::get<Verdict>(std::move(judgement));
  }
  static FileSet example() {
    return {{"kernels.cu", text_of("solution/kernels.cu")},
            {"plan.toml", text_of("solution/plan.toml")}};
  }

  static std::unique_ptr<test_support::TemporaryFolder> folder;
  static std::unique_ptr<Evaluator> evaluator;
  static std::string lacking;
};
std::unique_ptr<test_support::TemporaryFolder> EvaluatorProfileGpuTest::folder;
std::unique_ptr<Evaluator> EvaluatorProfileGpuTest::evaluator;
std::string EvaluatorProfileGpuTest::lacking = "no WARPSMITH_PYTHON";

TEST_F(EvaluatorProfileGpuTest, ShowsTheKernelsOfTheExampleAndItsBaselines) {
  const Verdict verdict = profiled(example());
  std::cout << verdict.feedback << "profile took " << verdict.phase_ms.at("profile") << " ms\n";
  ASSERT_TRUE(verdict.correct()) << verdict.feedback;
  const auto text = profile_of_evidence(verdict.evidence);
  ASSERT_TRUE(text);
  const Json profile = Json::parse(*text);
  const Json& candidate = profile["candidate"];
  if (candidate["kernels"].empty()) {
    // A profiler that records outside a jail must record in it.
    ASSERT_FALSE(cuda::run_canary(0).has_value()) << candidate["reason"];
    GTEST_SKIP() << candidate["reason"];
  }
  const Json& norm = candidate["kernels"][0];
  EXPECT_EQ(norm["name"], "rms_norm");
  EXPECT_EQ(norm["grid"], Json({256, 1, 1}));
  EXPECT_EQ(norm["block"], Json({256, 1, 1}));
  EXPECT_EQ(norm["static_shared_bytes"], 32);
  EXPECT_GT(norm["registers"], 0);
  EXPECT_GT(norm["occupancy"]["share"], 0.5);
  EXPECT_GE(candidate["kernels"].size(), 2U) << "a library does the product";
  for (const Json& kernel : candidate["kernels"]) {
    EXPECT_GT(kernel["time_us"], 0);
    EXPECT_LT(kernel["time_us"], 1000);
  }
  // A coarse bound: recording and timing are different runs, and a call has gaps.
  EXPECT_LT(candidate["total_us"], 1.5e3 * profile["call"]["candidate_ms"].get<double>());
  EXPECT_FALSE(profile["eager"]["kernels"].empty()) << profile["eager"]["reason"];
  EXPECT_FALSE(profile["compile"]["kernels"].empty()) << profile["compile"]["reason"];
  EXPECT_THAT(verdict.feedback, HasSubstr("rms_norm grid 256 block 256: "));
  expect_counted_alike(profile);
  EXPECT_TRUE(profile_trace(*text));
}

TEST_F(EvaluatorProfileGpuTest, CountsWhileVariablesAreRestored) {
  FileSet files = example();
  std::string& kernels = files.at("kernels.cu");
  const std::string product = "row[c] * scale";
  kernels.replace(kernels.rfind(product), product.size(), product + " * one_of_all");
  kernels.append("extern \"C\" __global__ void last() { one_of_all = 2; }\n");
  kernels.insert(kernels.find("extern"), "__device__ volatile float one_of_all = 1;\n");
  files.at("plan.toml") += "\n[[step]]\nlaunch = \"last\"\ngrid = [1]\nblock = [1]\nargs = []\n";
  const Verdict verdict = profiled(std::move(files));
  ASSERT_TRUE(verdict.correct()) << verdict.feedback;
  const auto text = profile_of_evidence(verdict.evidence);
  ASSERT_TRUE(text);
  expect_counted_alike(Json::parse(*text));
}

/// The locks of all GPUs that services on this machine ever shared, without those of their memory,
/// for which an evaluation waits first.
std::vector<DeviceLease> all_gpus() {
  std::vector<DeviceLease> leases;
  for (const auto& file : std::filesystem::directory_iterator(default_lease_folder)) {
    const std::string device = file.path().stem().string();
    if (!device.starts_with("gpu-") || device.ends_with("-memory")) continue;
    leases.push_back(
        DeviceLease::acquire(default_lease_folder, device, Deadline::after(std::chrono::minutes{1}))
            .value());
  }
  return leases;
}

TEST_F(EvaluatorProfileGpuTest, ReportsThatItWaitsForAGpuInUse) {
  (void)profiled(
      example());  // so that nothing is measured below, which would take turns without a report
  std::vector<DeviceLease> others = all_gpus();
  ASSERT_FALSE(others.empty());
  const Verdict verdict = profiled(example(), [&](const std::string& line) {
    if (line == "waiting for GPU 0, in use by others") others.clear();
  });
  EXPECT_TRUE(others.empty()) << "the evaluation waited";
  EXPECT_TRUE(verdict.correct()) << verdict.feedback;
}

TEST_F(EvaluatorProfileGpuTest, AWrongSolutionHasNoProfile) {
  FileSet files = example();
  std::string& plan = files.at("plan.toml");
  plan.replace(plan.find("1e-6"), 4, "1e-1");
  const Verdict verdict = profiled(std::move(files));
  EXPECT_EQ(verdict.outcome, VerdictClass::wrong) << verdict.feedback;
  EXPECT_FALSE(profile_of_evidence(verdict.evidence));
  EXPECT_THAT(verdict.feedback, testing::Not(HasSubstr("occupancy")));
}

}  // namespace
}  // namespace warpsmith::sandbox

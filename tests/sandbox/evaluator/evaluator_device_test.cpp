// SPDX-License-Identifier: Apache-2.0
// Contract `device` without a GPU: explanations, and errors with their places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/environment.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

const std::string example = "configs/examples/rms_norm_linear/";

std::string text_of(const std::string& file) {
  auto text = read_text_file(example + file, 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  return *text;
}

/// A class and its text.
struct Answer {
  VerdictClass outcome = VerdictClass::passed;
  std::string text;
};

class EvaluatorDeviceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(python_interpreter())) return;
    folder = std::make_unique<test_support::TemporaryFolder>();
    auto opened =
        Evaluator::open({.program = WARPSMITH_TEST_RUNNER,
                         .python = python_interpreter().string(),
                         .cache_dir = test_support::with_shared_baselines(folder->path())});
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
    toolchain = find_cuda_toolchain(built_with_toolkit(), python_interpreter()).has_value();
  }
  static void TearDownTestSuite() {
    evaluator.reset();
    folder.reset();
  }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  }

  static Judgement judge(FileSet files, Request want) {
    EvaluateRequest request;
    request.task = {.id = "rms_norm_linear", .code = text_of("reference.py")};
    request.submission = {request.task.id, "device", std::move(files)};
    request.want = want;
    return evaluator->evaluate(request, Deadline::after(seconds(120)));
  }
  static Answer explained(FileSet files) {
    const Judgement judgement = judge(std::move(files), Request::explain);
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) return {{}, "failure: " + std::get<InfraFailure>(judgement).detail};
    return {verdict->outcome, verdict->feedback};
  }

  static FileSet good() {
    return {{"kernels.cu", text_of("solution/kernels.cu")},
            {"plan.toml", text_of("solution/plan.toml")}};
  }
  /// The example with one place of a file replaced.
  static FileSet with(const std::string& file, const std::string& from, const std::string& to) {
    FileSet files = good();
    std::string& text = files.at(file);
    text.replace(text.find(from), from.size(), to);
    return files;
  }
  static FileSet with_kernels(std::string text) {
    FileSet files = good();
    files["kernels.cu"] = std::move(text);
    return files;
  }
  static Answer changed_plan(const std::string& from, const std::string& to) {
    return explained(with("plan.toml", from, to));
  }

  static std::unique_ptr<test_support::TemporaryFolder> folder;
  static std::unique_ptr<Evaluator> evaluator;
  static bool toolchain;
};
std::unique_ptr<test_support::TemporaryFolder> EvaluatorDeviceTest::folder;
std::unique_ptr<Evaluator> EvaluatorDeviceTest::evaluator;
bool EvaluatorDeviceTest::toolchain = false;

#define REQUIRE_TOOLCHAIN() \
  if (!toolchain) GTEST_SKIP() << "no NVRTC on this machine"

TEST_F(EvaluatorDeviceTest, ExplainsWhatWouldBeLaunched) {
  REQUIRE_TOOLCHAIN();
  const Answer answer = explained(good());
  EXPECT_EQ(answer.outcome, VerdictClass::passed);
  for (const char* line :
       {"extents d0 = 256, d1 = 1024, d2 = 512\n", "input x f32 [256, 1024] (d0, d1)\n",
        "parameter linear.weight f32 [512, 1024] (d2, d1)\n", "output y f32 [256, 512] (d0, d2)\n",
        "scratch normed f32 [256, 1024] 1048576 bytes\n",
        ": launch rms_norm grid (256, 1, 1) block (256, 1, 1)\n"
        "      args x gain normed 1024 (i32) 1e-06 (f32)\n",
        ": gemm y = normed [256, 1024] * linear.weight [512, 1024] transposed  m 256 n 512 k 1024 "
        "bias linear.bias epilogue bias in f32\n",
        "kernel rms_norm: ", " 32 bytes of static shared memory a block, at most 256 threads"}) {
    EXPECT_THAT(answer.text, HasSubstr(line));
  }
}

TEST_F(EvaluatorDeviceTest, VariantsThatAreNotChosenAreCheckedToo) {
  REQUIRE_TOOLCHAIN();
  const auto beside_a_fill = [](const std::string& steps) {
    FileSet files = good();
    files["plan.toml"] = "[[variant]]\nwhen = \"d0 == 7\"\n" + steps +
                         "[[variant]]\n[[variant.step]]\nmemset = \"y\"\n";
    return explained(std::move(files));
  };
  const Answer wrong = beside_a_fill(
      "[[variant.step]]\nlaunch = \"rms_norn\"\ngrid = [1]\nblock = [1]\nargs = [\"y\"]\n");
  EXPECT_EQ(wrong.outcome, VerdictClass::compile_error);
  EXPECT_THAT(wrong.text, HasSubstr("plan.toml:4:10: no kernel \"rms_norn\" in kernels.cu"));
  const Answer fine = beside_a_fill("[[variant.step]]\ncopy = \"y\"\nfrom = \"x\"\n");
  EXPECT_EQ(fine.outcome, VerdictClass::passed) << fine.text;
  EXPECT_THAT(fine.text,
              HasSubstr("variant 1 of 2, line 1, when d0 == 7, 1 step: not chosen; would not fit "
                        "these extents: plan.toml:3:1: copy: \"x\" has 1048576 bytes, \"y\" "
                        "524288\nvariant 2 of 2, line 6, 1 step: carried out\n"));
}

TEST_F(EvaluatorDeviceTest, CompilesWithoutRunning) {
  REQUIRE_TOOLCHAIN();
  const Judgement judgement = judge(good(), Request::compile);
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  EXPECT_EQ(std::get<Verdict>(judgement).feedback, "compiled");
  EXPECT_EQ(std::get<Verdict>(judgement).contract, "device");
}

TEST_F(EvaluatorDeviceTest, APlanThatLaunchesNothingNeedsNoKernels) {
  const Answer answer = explained({{"plan.toml", "[[step]]\nmemset = \"y\"\n"}});
  EXPECT_EQ(answer.outcome, VerdictClass::passed) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("step 1, line 1: memset y to bytes 0\n"));
}

TEST_F(EvaluatorDeviceTest, WhatIsMissingIsNamed) {
  FileSet files = good();
  files.erase("plan.toml");
  EXPECT_THAT(explained(files).text, StartsWith("compile_error: solution/plan.toml is missing"));
  REQUIRE_TOOLCHAIN();
  files = good();
  files.erase("kernels.cu");
  EXPECT_EQ(explained(files).text, "compile_error: solution/kernels.cu is missing");
}

TEST_F(EvaluatorDeviceTest, WrongPlansAreNamedByLineAndColumn) {
  EXPECT_THAT(changed_plan("[[step]]", "[[step").text, StartsWith("compile_error: plan.toml:9:"));
  REQUIRE_TOOLCHAIN();
  EXPECT_EQ(changed_plan("grid = [\"d0\"]", "grid = [\"d7\"]").text,
            "compile_error: plan.toml:11:10: unknown symbol \"d7\"; known: d0 d1 d2");
  EXPECT_EQ(changed_plan(", \"d1\", {f32 = 1e-6}", "").text,
            "compile_error: plan.toml:10:10: \"rms_norm\" takes 5 arguments, got 3");
  EXPECT_EQ(changed_plan("grid = [\"d0\"]", "grid = [\"d0 / (d1 - 1024)\"]").text,
            "compile_error: plan.toml:11:13: division by zero");
  EXPECT_EQ(changed_plan("grid = [\"d0\"]", "grid = [1, \"d0 * d1\"]").text,
            "compile_error: plan.toml:11:13: grid: expected 1 to 65535, got 262144");
  EXPECT_EQ(changed_plan("shape = [\"d0\", \"d1\"]", "shape = [\"d0\", \"d1\", 1025]").text,
            "compile_error: plan.toml:5:1: scratch: expected at most 1073741824 bytes in all, got "
            "1074790400");
  EXPECT_EQ(changed_plan("a = \"normed\"", "a = \"y\"").text,
            "compile_error: plan.toml:17:5: \"y\" is read before any step has written it");
  EXPECT_THAT(changed_plan("\"rms_norm\"", "\"rms\"").text,
              StartsWith("compile_error: plan.toml:10:10: no kernel \"rms\" in kernels.cu"));
}

TEST_F(EvaluatorDeviceTest, WrongSourcesHaveOneClearMessage) {
  REQUIRE_TOOLCHAIN();
  EXPECT_EQ(explained(with_kernels(std::string(100U << 20U, ' '))).text,
            "compile_error: the source has 104857600 bytes, more than 262144");
  RandomStream random(3, "garbage");
  std::string garbage;
  for (int i = 0; i < 4096; ++i) garbage += static_cast<char>(1 + random.below(255));
  EXPECT_EQ(explained(with_kernels(garbage)).outcome, VerdictClass::compile_error);
  EXPECT_EQ(explained(with_kernels(std::string(16, '\0'))).text,
            "compile_error: kernels.cu is no text: byte 0 is zero");
  const Answer host =
      explained(with_kernels("#include \"/etc/passwd\"\n" + text_of("solution/kernels.cu")));
  EXPECT_EQ(host.outcome, VerdictClass::compile_error);
  EXPECT_THAT(host.text, HasSubstr("/etc/passwd"));
  EXPECT_THAT(host.text, testing::Not(HasSubstr("root:")));
  const Answer endless = explained(
      with_kernels("template <int n> struct A { static constexpr int v = A<n + 1>::v; };\n"
                   "extern \"C\" __global__ void rms_norm(int* p) { *p = A<0>::v; }\n"));
  EXPECT_EQ(endless.outcome, VerdictClass::compile_error);
  EXPECT_THAT(endless.text, HasSubstr("kernels.cu:1: error: "));
}

TEST_F(EvaluatorDeviceTest, SaysThatAMachineLacksCuda) {
  if (toolchain) GTEST_SKIP() << "this machine has CUDA's compiler";
  const Judgement judgement = judge(good(), Request::explain);
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::jail_unavailable);
  EXPECT_THAT(std::get<InfraFailure>(judgement).detail, StartsWith("contract device: no NVRTC"));
}

TEST_F(EvaluatorDeviceTest, ARefusedTaskIsNamed) {
  EvaluateRequest request;
  request.task = {.id = "bad", .code = "x = 1\n"};
  request.submission = {.contract = "device",
                        .files = {{"plan.toml", "[[step]]\nmemset = \"y\"\n"}}};
  request.want = Request::explain;
  const Judgement judgement = evaluator->evaluate(request, Deadline::after(seconds(120)));
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::task_refused);
  EXPECT_EQ(std::get<InfraFailure>(judgement).detail, "bad: the task defines no Model");
}

TEST_F(EvaluatorDeviceTest, NothingRunsWithoutAGpu) {
  REQUIRE_TOOLCHAIN();
  const Judgement judgement = judge(good(), Request::final);
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::jail_unavailable);
}

}  // namespace
}  // namespace warpsmith::sandbox

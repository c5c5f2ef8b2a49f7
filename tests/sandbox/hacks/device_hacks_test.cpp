// SPDX-License-Identifier: Apache-2.0
// Reward hacks of contract `device` on GPU 0, through the whole evaluator: each gets the right
// verdict, and the honest solution after it passes. device/README.md lists the entries that the
// contract makes impossible; judge/software_evaluation_test.cpp judges those that need no GPU.
#include <gtest/gtest.h>

#include <memory>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "tests/sandbox/support/gpu_evaluator.hpp"
#include "tests/sandbox/support/submissions.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::Expectation;
using testing::in_seconds;

std::string text_of_judgement(const Judgement& judgement) {
  if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
    return std::string(to_string(verdict->outcome)) + " (" + verdict->feedback + ")";
  }
  const auto& failure = std::get<InfraFailure>(judgement);
  return std::string(to_string(failure.kind)) + " (" + failure.detail + ")";
}

std::string class_of(const Judgement& judgement) {
  const auto* verdict = std::get_if<Verdict>(&judgement);
  return verdict == nullptr ? "none" : std::string(to_string(verdict->outcome));
}

/// By medians, because a single disturbed call changes the ratio of totals, which counts if it is
/// lower.
double speedup_of(const Judgement& judgement) {
  const auto* verdict = std::get_if<Verdict>(&judgement);
  if (verdict == nullptr || verdict->shapes.empty()) return 0;
  const ShapeResult& shape = verdict->shapes.front();
  return shape.eager_ms.value_or(0) / shape.candidate_ms.value_or(1);
}

class OnDevice : public testing::GpuEvaluator {
 protected:
  static Judgement judge(const std::string& task, FileSet files, Request want) {
    return judge(testing::hack_task(task), std::move(files), want);
  }
  static Judgement judge(const Task& task, FileSet files, Request want) {
    EvaluateRequest request;
    request.task = task;
    request.submission = {task.id, "device", std::move(files)};
    request.want = want;
    return evaluator->evaluate(request, in_seconds(240));
  }
};

class DeviceHonestTest : public OnDevice {};

TEST_F(DeviceHonestTest, SolutionsPass) {
  for (const char* task : {"centred_rows", "centred_linear"}) {
    const Judgement judgement = judge(task, testing::of_device.honest(task), Request::final);
    EXPECT_EQ(class_of(judgement), "passed") << task << ": " << text_of_judgement(judgement);
  }
}

TEST_F(DeviceHonestTest, PassOnHiddenSizesWhereHardCodedSizesFail) {
  FileSet files = testing::of_device.honest("centred_rows");
  const Judgement honest = judge(testing::ragged_task_of_hacks(), files, Request::final);
  ASSERT_EQ(class_of(honest), "passed") << text_of_judgement(honest);
  const Verdict& verdict = std::get<Verdict>(honest);
  ASSERT_EQ(verdict.shapes.size(), 2U);
  EXPECT_TRUE(verdict.shapes[0].candidate_ms.has_value());
  EXPECT_EQ(verdict.shapes[1].shape, "d0=301 d1=256");
  EXPECT_TRUE(verdict.shapes[1].hidden);
  std::string& plan = files.at("plan.toml");
  plan.replace(plan.find("\"d0\", \"d1\""), 10, "\"512\", \"d1\"");
  const Judgement fixed = judge(testing::ragged_task_of_hacks(), files, Request::final);
  EXPECT_TRUE(class_of(fixed) == "oob_write" || class_of(fixed) == "device_fault")
      << text_of_judgement(fixed);
  EXPECT_NE(text_of_judgement(fixed).find("other sizes of the task's inputs"), std::string::npos);
}

TEST_F(DeviceHonestTest, ALaneAcceptsTf32ProductsAndNothingLessPrecise) {
  Task task = testing::hack_task("centred_linear");
  task.code += "\nLANE = \"tf32-allowed\"\n";
  task.content_hash = sha256_hex(task.code);
  task.lane = PrecisionLane::tf32_allowed;
  const std::pair<std::string, std::string> expected[] = {{"tf32_product", "passed"},
                                                          {"tf32_by_the_library", "passed"},
                                                          {"bf16_product", "wrong"},
                                                          {"half_of_the_product", "wrong"}};
  for (const auto& [name, outcome] : expected) {
    const Judgement judgement = judge(task, testing::of_device.files(name), Request::final);
    EXPECT_EQ(class_of(judgement), outcome) << name << ": " << text_of_judgement(judgement);
  }
}

TEST_F(DeviceHonestTest, NoSubmissionFindsNotesOfAnEarlierOne) {
  for (const char* hack : {"leaves_a_note", "reads_a_note"}) {
    const Judgement judgement =
        judge("centred_rows", testing::of_device.files(hack), Request::verify);
    const bool left = std::string(hack) == "leaves_a_note";
    EXPECT_EQ(class_of(judgement), left ? "oob_write" : "passed")
        << hack << text_of_judgement(judgement);
  }
}

/// With the tolerance of published numbers, also in the GPU's comparison. The last test here: it
/// opens a second evaluator on this thread, which takes the first one's current context away.
TEST_F(DeviceHonestTest, PaperNumericsPassWhatStrictRefuses) {
  auto opened = Evaluator::open({.program = testing::sandbox_program(),
                                 .python = python_interpreter().string(),
                                 .cache_dir = folder->path(),
                                 .gpu = 0,
                                 .settings = {.numerics = Numerics::paper}});
  ASSERT_TRUE(opened) << opened.error().message;
  FileSet files = testing::of_device.honest("centred_rows");
  std::string& text = files.at("kernels.cu");
  text.replace(text.find("sum / columns;"), 14, "sum / columns * 1.001f;");
  EvaluateRequest request;
  request.task = testing::hack_task("centred_rows");
  request.submission = {request.task.id, "device", files};
  request.want = Request::final;
  const Judgement lax = opened->evaluate(request, in_seconds(240));
  EXPECT_EQ(class_of(lax), "passed") << text_of_judgement(lax);
  const auto* verdict = std::get_if<Verdict>(&lax);
  EXPECT_TRUE(verdict != nullptr && verdict->trust == TrustClass::paper);
  EXPECT_EQ(class_of(judge("centred_rows", files, Request::verify)), "wrong");
}

class DeviceHackTest : public OnDevice, public ::testing::WithParamInterface<std::string> {};

TEST_P(DeviceHackTest, GetsTheRightVerdictAndHarmsNoOther) {
  const Expectation expected = testing::of_device.expectation(GetParam());
  const Judgement judgement =
      judge(expected.task, testing::of_device.files(GetParam()), expected.want);
  EXPECT_TRUE(expected.gpu.contains(class_of(judgement))) << text_of_judgement(judgement);

  const Request want = expected.want == Request::final ? Request::final : Request::verify;
  const Judgement after = judge(expected.task, testing::of_device.honest(expected.task), want);
  ASSERT_EQ(class_of(after), "passed") << text_of_judgement(after);
  // Paired ratios to the same baseline; the slack covers noise.
  if (expected.no_faster_than_honest && class_of(judgement) == "passed") {
    EXPECT_LT(speedup_of(judgement), 1.25 * speedup_of(after))
        << text_of_judgement(judgement) << " against " << text_of_judgement(after);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, DeviceHackTest,
                         ::testing::ValuesIn(testing::of_device.hacks([](const auto&) {
                           return true;
                         })),
                         [](const auto& hack) { return hack.param; });

}  // namespace
}  // namespace warpsmith::sandbox

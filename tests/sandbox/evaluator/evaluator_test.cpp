// SPDX-License-Identifier: Apache-2.0
// Whole judgements: real compiler, real jails, real torch.
#include "sandbox/evaluator/evaluator.hpp"

#include <nlohmann/json.hpp>

#include "runtime/device/lease.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/sandbox/evaluator/evaluator_fixture.hpp"
#include "tests/sandbox/support/task_texts.hpp"

namespace warpsmith::sandbox {
namespace {

using test::coarse_body;
using test::EvaluatorTest;
using test::honest_body;
using test::kernel;
using test::milliseconds;
using test::seconds;
using test::solve;
using test::task_code;

TEST_F(EvaluatorTest, PassesAnHonestKernelWithEvidence) {
  const Verdict v = verdict(kernel(honest_body));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_THAT(v.feedback, testing::StartsWith("passed: 6 of 6 sets, worst error 0."));
  EXPECT_THAT(v.evidence, testing::HasSubstr("\"seed\""));
  EXPECT_FALSE(v.jail.empty());
}

TEST_F(EvaluatorTest, CompilesOnTheCoresForThatAndRunsOnItsOwn) {
  const std::string source = kernel(honest_body) + "// compiled only by this test\n";
  EXPECT_EQ(verdict(source, Request::compile).jail.at("core"),
            "pinned to " + std::to_string(compile_core()));
  EXPECT_EQ(verdict(source).jail.at("core"), "pinned to 0");
}

TEST_F(EvaluatorTest, WaitsForAnotherRunOnItsCore) {
  std::optional other =
      DeviceLease::acquire(default_lease_folder, core_device(0), Deadline::after(seconds(60)))
          .value();
  std::string last;
  const Judgement judgement =
      judge(kernel(honest_body), Request::verify, task_code, seconds(500), [&](const auto& line) {
        last = line;
        if (last == "waiting for core 0, in use by another run") other.reset();
      });
  EXPECT_FALSE(other) << "the evaluation waited";
  EXPECT_EQ(last, "task: verifying");
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  EXPECT_FALSE(std::get<Verdict>(judgement).device_held_ms) << "only a GPU is held";
}

TEST_F(EvaluatorTest, TimesAgainstBothBaselines) {
  const Judgement judgement = judge(kernel(honest_body), Request::final);
  if (const auto* infra = std::get_if<InfraFailure>(&judgement)) {
    // A loaded machine may be too noisy to decide, which is not a verdict.
    EXPECT_EQ(infra->kind, InfraKind::noise) << infra->detail;
    GTEST_SKIP() << infra->detail;
  }
  const Verdict& v = std::get<Verdict>(judgement);
  ASSERT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  const ShapeResult& shape = v.shapes.at(0);
  EXPECT_GT(*shape.candidate_ms, nlohmann::json::parse(v.evidence).at("floor_ms").get<double>());
  EXPECT_GT(*shape.roofline_ms, nlohmann::json::parse(v.evidence).at("floor_ms").get<double>());
  EXPECT_LE(shape.speedup_eager_interval->low, *shape.speedup_eager);
  EXPECT_GE(shape.speedup_eager_interval->high, *shape.speedup_eager);
}

/// A right kernel with a 256th of the reference's operations.
TEST_F(EvaluatorTest, PassesAKernelWithFewerOperations) {
  const Judgement judgement = judge(solve(R"(
    const float* a = (const float*)in[0]; const float* b = (const float*)in[1];
    float* y = (float*)out[0];
    for (int64_t r = 0; r < 256; ++r)
      for (int64_t c = 0; c < 256; ++c) y[r * 256 + c] = a[r] * b[r * 256 + c];)"),
                                    Request::final, test::diagonal_product_code);
  if (const auto* infra = std::get_if<InfraFailure>(&judgement)) {
    EXPECT_EQ(infra->kind, InfraKind::noise) << infra->detail;
    GTEST_SKIP() << infra->detail;
  }
  const Verdict& v = std::get<Verdict>(judgement);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

TEST_F(EvaluatorTest, JudgesIntegerInputsAndBuffers) {
  const Verdict v = verdict(solve(R"(
    const int64_t* i = (const int64_t*)in[0]; const float* table = (const float*)in[1];
    const int64_t* order = (const int64_t*)in[2]; float* y = (float*)out[0];
    for (int64_t r = 0; r < 512; ++r)
      for (int64_t c = 0; c < 256; ++c) y[r * 256 + c] = 1.5f * table[i[r] * 256 + order[c]];)"),
                            Request::verify, test::embedding_code);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
}

TEST_F(EvaluatorTest, CompilesWithoutJudging) {
  EXPECT_EQ(verdict(kernel(honest_body), Request::compile).feedback, "compiled");
  const Verdict v = verdict(kernel("undeclared();"), Request::compile);
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_THAT(v.feedback, testing::StartsWith("compile_error: kernel.cpp:"));
}

TEST_F(EvaluatorTest, AWrongKernelIsRefusedBeforeTheBaselinesAreCompiled) {
  ASSERT_EQ(outcome(honest_body), VerdictClass::passed) << "from here on the task is known";
  Evaluator fresh = Evaluator::open(on_core()).value();
  const Task task{.id = "task", .code = task_code, .content_hash = sha256_hex(task_code)};
  const auto compiles_for = [&](const char* body, VerdictClass expected) {
    bool compiled = false;
    fresh.on_progress([&](const std::string& what) {
      compiled = compiled || what.find("torch.compile") != std::string::npos;
    });
    const auto judgement = fresh.evaluate(request_for(task, kernel(body), Request::final),
                                          Deadline::after(seconds(500)));
    const auto* given = std::get_if<Verdict>(&judgement);
    EXPECT_TRUE(given == nullptr || given->outcome == expected);
    return compiled;
  };
  EXPECT_FALSE(compiles_for(coarse_body, VerdictClass::wrong));
  EXPECT_TRUE(compiles_for(honest_body, VerdictClass::passed));
}

TEST_F(EvaluatorTest, GivesWrongKernelsTheirClass) {
  EXPECT_EQ(outcome("for (int64_t c = 0; c < C; ++c) y[c] = 0;"), VerdictClass::wrong);
  EXPECT_EQ(outcome("for (int64_t c = 0; c + 1 < C; ++c) y[c] = row[c];"), VerdictClass::nonfinite);
  EXPECT_EQ(outcome("if (r > 0) for (int64_t c = 0; c < C; ++c) y[c] = 0;"),
            VerdictClass::nonfinite);
  EXPECT_EQ(outcome("((volatile float*)row)[0] = 1;"), VerdictClass::input_mutated);
  EXPECT_EQ(outcome(std::string(honest_body) + "o[R * C] = 1;"), VerdictClass::oob_write);
  EXPECT_EQ(outcome("*(volatile int*)8 = 1;"), VerdictClass::device_fault);
  EXPECT_EQ(outcome("for (volatile int i = 0;; ) i = 1;"), VerdictClass::timeout);
}

/// What the evidence says about wrong elements of the only wrong set.
nlohmann::json difference_in(const Verdict& v) {
  return nlohmann::json::parse(v.evidence).at("sets").back().at("differs");
}

TEST_F(EvaluatorTest, RowsThatAreNotWrittenAreCountedAndNamed) {
  const Verdict v = verdict(kernel("if (r < R - 12) {" + std::string(honest_body) + "}"));
  EXPECT_EQ(v.outcome, VerdictClass::nonfinite);
  EXPECT_THAT(v.feedback,
              testing::EndsWith(": 3072 not written; 3072 of 131072 elements differ, the first is "
                                "y[500, 0]; likely: the last 12 of 512 rows are not written or not "
                                "computed"));
  EXPECT_TRUE(difference_in(v).at("got").is_null());
  EXPECT_TRUE(difference_in(v).at("expected").is_number());
}

TEST_F(EvaluatorTest, AConstantOffsetIsNamedToAllAndItsValuesOnlyInTheEvidence) {
  const Verdict v =
      verdict(kernel(std::string(honest_body) + "for (int64_t c = 0; c < C; ++c) y[c] += 4096;"));
  EXPECT_EQ(v.outcome, VerdictClass::wrong);
  EXPECT_THAT(v.feedback, testing::EndsWith("; 131072 of 131072 elements differ, the first is "
                                            "y[0, 0]; likely: all are off by one constant offset"));
  const auto differs = difference_in(v);
  EXPECT_NEAR(differs.at("got").get<double>() - differs.at("expected").get<double>(), 4096, 4);
  EXPECT_NEAR(differs.at("likely_number").get<double>(), 4096, 4);
  EXPECT_THAT(v.feedback, testing::Not(testing::HasSubstr("409")));
}

TEST_F(EvaluatorTest, WronglyInfiniteElementsAreCounted) {
  const Verdict v = verdict(kernel(std::string(honest_body) + "y[3] = 1.0f / 0.0f; y[4] = -y[3];"));
  EXPECT_EQ(v.outcome, VerdictClass::nonfinite);
  EXPECT_THAT(v.feedback, testing::HasSubstr(": 1024 wrongly infinite; 1024 of 131072 elements "
                                             "differ, the first is y[0, 3]"));
}

TEST_F(EvaluatorTest, AKernelThatEndsItsProcessCrashed) {
  EXPECT_THAT(verdict(kernel("*(volatile int*)8 = 1;")).feedback, testing::StartsWith("crashed: "));
}

TEST_F(EvaluatorTest, OurOwnDeadlineIsNoTimeoutOfTheKernel) {
  const std::string endless = kernel("for (volatile int i = 0;; ) i = 1;");
  EXPECT_EQ(verdict(endless).outcome, VerdictClass::timeout);  // compiled; the worker is up
  const Judgement judgement = judge(endless, Request::verify, task_code, milliseconds(700));
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  EXPECT_EQ(std::get<InfraFailure>(judgement).kind, InfraKind::deadline);
}

TEST_F(EvaluatorTest, ATaskThatHangsIsRefusedWithinItsBudget) {
  SandboxOptions options = on_core();
  options.settings.ingest_timeout = seconds(5);
  auto impatient = Evaluator::open(options);
  ASSERT_TRUE(impatient) << impatient.error().message;
  const Task task{.id = "hangs", .source = "tasks/hangs.py", .code = "while True: pass\n"};
  const auto facts = impatient->ingest(task, Deadline::after(seconds(200)));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(facts.error().message,
            "tasks/hangs.py: loading: the reference worker did not answer within 1 s; "
            "sandbox.limits.ingest is 5 s, a fifth of it for loading");
}

TEST(EvaluatorOpenTest, NamesACoreThatIsNotAvailable) {
  const auto opened = Evaluator::open({.cache_dir = "/tmp", .core = 1000});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_EQ(opened.error().message,
            "core 1000 is not available to this process (sandbox.first_core)");
}

TEST_F(EvaluatorTest, RefusesATaskItCannotJudge) {
  const Judgement judgement = judge(kernel(honest_body), Request::verify, "x = 1\n");
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  const auto& infra = std::get<InfraFailure>(judgement);
  EXPECT_EQ(infra.kind, InfraKind::task_refused);
  EXPECT_EQ(infra.detail, "task: the task defines no Model");
}

const std::string ragged_code =
    std::string(task_code) + "def get_ragged_inputs():\n    return [torch.randn(301, 256)]\n";

TEST_F(EvaluatorTest, VerifiesHiddenShapesToo) {
  const Verdict v = verdict(kernel(honest_body), Request::verify, ragged_code);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  ASSERT_EQ(v.shapes.size(), 2U);
  EXPECT_EQ(v.shapes[0].shape, "d0=512 d1=256");
  EXPECT_EQ(v.shapes[1].shape, "d0=301 d1=256");
  EXPECT_TRUE(v.shapes[1].hidden);
  EXPECT_TRUE(v.shapes[1].worst_error.has_value());
  EXPECT_FALSE(v.shapes[1].candidate_ms.has_value());
  EXPECT_THAT(v.evidence, testing::HasSubstr("\"hidden_sets\""));
  EXPECT_GT(v.phase_ms.at("hidden_references"), 0);
}

TEST_F(EvaluatorTest, TheExampleOfHiddenShapesPasses) {
  const std::string example = "configs/examples/ragged_rows/";
  const auto text = [&](const char* file) {
    return read_text_file(example + file, 1U << 16U).value();
  };
  const Verdict v = verdict(text("solution/kernel.cpp"), Request::verify, text("reference.py"));
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_EQ(v.shapes.size(), 2U);
}

TEST_F(EvaluatorTest, AHardCodedSizeFailsWithoutNamingTheHiddenOne) {
  const std::string fixed = "    if (R != 512) { y[0] = (float)R; continue; }\n";
  const Verdict v = verdict(kernel(fixed + honest_body), Request::final, ragged_code);
  EXPECT_EQ(v.outcome, VerdictClass::nonfinite);
  EXPECT_EQ(v.feedback, "nonfinite: on other sizes of the task's inputs than those shown");
  EXPECT_FALSE(v.shapes.at(0).candidate_ms.has_value())
      << "a kernel that is wrong on hidden sizes is not timed";
}

TEST_F(EvaluatorTest, FeedbackOnShownSizesIsKept) {
  const Verdict v = verdict(kernel("    for (int64_t c = 0; c < C; ++c) y[c] = row[c];\n"),
                            Request::final, ragged_code);
  EXPECT_EQ(v.outcome, VerdictClass::wrong);
  EXPECT_THAT(v.feedback, testing::StartsWith("wrong: set "));
}

TEST_F(EvaluatorTest, RefusesHiddenShapesOfOtherInputs) {
  const auto refusal = [](const std::string& inputs) {
    const Task task{
        .id = "t",
        .source = "t.py",
        .code = std::string(task_code) + "def get_ragged_inputs():\n    return [" + inputs + "]\n"};
    const auto facts = evaluator->ingest(task, Deadline::after(seconds(300)));
    return facts ? "taken" : facts.error().message;
  };
  EXPECT_EQ(refusal("torch.randn(512, 256)"),
            "t.py: get_ragged_inputs: all sizes are those of get_inputs");
  EXPECT_EQ(refusal("torch.randn(7, 301, 256)"),
            "t.py: get_ragged_inputs: ranks differ: x [7, 301, 256], by get_inputs x [512, 256]");
  EXPECT_THAT(refusal("torch.randn(301, 128)"),
              testing::StartsWith("t.py: get_ragged_inputs: forward raised RuntimeError: "));
  EXPECT_EQ(refusal("torch.randn(301, 256).double()"),
            "t.py: get_ragged_inputs: the type of x differs");
  EXPECT_THAT(refusal("undefined"),
              testing::MatchesRegex(
                  "t.py: get_ragged_inputs: get_inputs raised NameError: name 'undefined' "
                  "is not defined \\(t.py, line [0-9]+, in get_ragged_inputs\\)"));
}

TEST_F(EvaluatorTest, StrictRefusesWhatPublishedNumbersAllow) {
  const Verdict v = verdict(kernel(coarse_body));
  EXPECT_EQ(v.outcome, VerdictClass::wrong);
  EXPECT_THAT(v.evidence, testing::HasSubstr(R"("numerics":"strict")"));
}

// These two come last: each ends the worker, and the next timing takes a new torch.compile.
TEST_F(EvaluatorTest, ADeadWorkerIsNoFaultOfTheKernel) {
  std::string code = test::raising_code;
  code.replace(code.find("raise ValueError(\"too large\")"), 29, "__import__('os')._exit(3)");
  const Judgement judgement = judge(kernel(honest_body), Request::verify, code);
  ASSERT_TRUE(std::holds_alternative<InfraFailure>(judgement));
  const auto& infra = std::get<InfraFailure>(judgement);
  EXPECT_EQ(infra.kind, InfraKind::task_refused);  // it ended a fresh worker too
  EXPECT_THAT(infra.detail,
              testing::StartsWith("task: input sets, free, huge: reference worker: "));
}

TEST_F(EvaluatorTest, NamesATaskThatEndsItsWorker) {
  const Task task{.id = "ends",
                  .source = "tasks/ends.py",
                  .code = "__import__('os')._exit(0)\n" + std::string(task_code)};
  const auto facts = evaluator->ingest(task, Deadline::after(seconds(120)));
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(facts.error().message,
            "tasks/ends.py: loading: the reference worker ended: exit code 0");
  EXPECT_EQ(outcome(honest_body), VerdictClass::passed);  // the next task gets a fresh one
}

}  // namespace
}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// A fourth contract, `rows`, which exists only in this file: a submission is what happens to one
// row of a matrix. The evaluator judges it as it judges the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/after_all_tests.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

// All that the contract takes: a candidate that starts, a contract that builds, an entry.

constexpr const char* rows_file = "rows.c";

class RowsCandidate final : public Candidate {
 public:
  RowsCandidate(const SandboxOptions& options, std::string artefact)
      : options_(options), artefact_(std::move(artefact)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    return start_cpu_contestant({.runner = options_.program,
                                 .artefact = artefact_,
                                 .dims = place.bench.signature().dims,
                                 .memory = place.bench.candidate_memory(),
                                 .core = options_.core,
                                 .limits = {}},
                                deadline);
  }
  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task&, const TaskSignature&) override {
    return std::make_unique<RowsCandidate>(options_, artefact_);
  }

 private:
  const SandboxOptions& options_;
  std::string artefact_;
};

class RowsContract final : public Contract {
 public:
  RowsContract(const SandboxOptions& options, CpuCompiler compiler)
      : options_(options), compiler_(std::move(compiler)) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override {
    const FileSet& files = context.request.submission.files;
    const auto rows = files.find(rows_file);
    Build build;
    if (rows == files.end()) {
      build.candidate =
          tl::unexpected(failed_compiling(VerdictClass::compile_error, "rows.c is missing"));
      return build;
    }
    auto compiled = compiler_.compile({{"kernel.cpp", around(rows->second)}}, deadline);
    if (!compiled) return tl::unexpected(std::move(compiled.error()));
    if (compiled->failure) {
      build.candidate = tl::unexpected(std::move(*compiled));
    } else {
      build.candidate = std::make_unique<RowsCandidate>(options_, std::move(compiled->artefact));
    }
    return build;
  }

 private:
  static std::string around(const std::string& row) {
    return "extern \"C\" void solve(const void* const* in, void* const* out, const long* dims) {\n"
           "  const float *x = (const float*)in[0], *bias = (const float*)in[1];\n"
           "  float* y = (float*)out[0];\n"
           "  const long n = dims[1];\n"
           "  for (long r = 0; r < dims[0]; ++r, x += n, y += n) {\n" +
           row + "\n  }\n}\n";
  }

  const SandboxOptions& options_;
  CpuCompiler compiler_;
};

Result<std::unique_ptr<Contract>> open_rows(const ContractSlot& slot) {
  auto compiler = CpuCompiler::create(slot.options);
  if (!compiler) return tl::unexpected(std::move(compiler.error()));
  return std::make_unique<RowsContract>(slot.options, std::move(*compiler));
}

const ContractEntry rows_contract{.name = "rows",
                                  .files = {rows_file},
                                  .required_file = rows_file,
                                  .solution_files = "solution/rows.c",
                                  .tensors_heading = "Tensors whose rows are x and y",
                                  .tensor_lines =
                                      [](const TaskSignature& signature) {
                                        return buffer_lines(signature, distinct_extents(signature));
                                      },
                                  .open = open_rows};

// The rest is the test.

constexpr const char* task_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.rand(256))
    def forward(self, x):
        x = x + self.bias
        return x - x.mean(-1, keepdim=True)
def get_inputs():
    return [torch.randn(512, 256)]
def get_init_inputs():
    return []
)";

constexpr const char* honest =
    "float sum = 0;\n"
    "for (long i = 0; i < n; ++i) sum += x[i] + bias[i];\n"
    "for (long i = 0; i < n; ++i) y[i] = x[i] + bias[i] - sum / (float)n;";

class DummyContractTest : public ::testing::Test {
 public:
  static void close() {
    evaluator.reset();
    folder.reset();
  }

 protected:
  static void SetUpTestSuite() {
    folder = std::make_unique<test_support::TemporaryFolder>();
    auto opened =
        Evaluator::open({.program = testing::sandbox_program(),
                         .python = python_interpreter().string(),
                         .cache_dir = test_support::with_shared_baselines(folder->path())},
                        {&rows_contract});
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
  }

  static Judgement judge(const FileSet& files, Request want, const std::string& contract = "rows") {
    EvaluateRequest request;
    request.task = {.id = "task", .code = task_code, .content_hash = sha256_hex(task_code)};
    request.submission = {"task", contract, files};
    request.want = want;
    return evaluator->evaluate(request, testing::in_seconds(240));
  }
  static Verdict verdict(const FileSet& files, Request want) {
    Judgement judgement = judge(files, want);
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      throw std::runtime_error(failure->detail);
    }
    return std::get<Verdict>(std::move(judgement));
  }

  static std::unique_ptr<test_support::TemporaryFolder> folder;
  static std::unique_ptr<Evaluator> evaluator;
};
std::unique_ptr<test_support::TemporaryFolder> DummyContractTest::folder;
std::unique_ptr<Evaluator> DummyContractTest::evaluator;
const bool registered = test_support::after_all_tests(DummyContractTest::close);

TEST_F(DummyContractTest, NamesWhatIsMissing) {
  const Verdict v = verdict({{"kernel.cpp", ""}}, Request::compile);
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_EQ(v.feedback, "compile_error: rows.c is missing");
  EXPECT_EQ(v.contract, "rows");
}

TEST_F(DummyContractTest, NamesWhatDoesNotCompile) {
  const Verdict v = verdict({{rows_file, "y[0] = nothing;"}}, Request::compile);
  EXPECT_EQ(v.outcome, VerdictClass::compile_error);
  EXPECT_THAT(v.feedback, ::testing::HasSubstr("nothing"));
}

TEST_F(DummyContractTest, CompilesWithoutTheTask) {
  const Verdict v = verdict({{rows_file, honest}}, Request::compile);
  EXPECT_EQ(v.outcome, VerdictClass::passed) << v.feedback;
  EXPECT_EQ(v.feedback, "compiled");
}

TEST_F(DummyContractTest, ExplainsNothing) {
  const auto failure = std::get<InfraFailure>(judge({{rows_file, honest}}, Request::explain));
  EXPECT_EQ(failure.kind, InfraKind::jail_unavailable);
  EXPECT_EQ(failure.detail, "contract rows has no plan to explain");
}

TEST_F(DummyContractTest, IsTheOnlyOneThatThisEvaluatorHas) {
  const auto failure = std::get<InfraFailure>(judge({{rows_file, honest}}, Request::final, "cpu"));
  EXPECT_EQ(failure.detail, "no such contract here: cpu");
}

TEST_F(DummyContractTest, PassesARightSubmissionAndFailsAWrongOne) {
  if (!std::filesystem::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  const Verdict right = verdict({{rows_file, honest}}, Request::verify);
  EXPECT_EQ(right.outcome, VerdictClass::passed) << right.feedback;
  EXPECT_NE(right.trust, TrustClass::device);
  const Verdict wrong = verdict(
      {{rows_file, "for (long i = 0; i < n; ++i) y[i] = x[i] + bias[i];"}}, Request::verify);
  EXPECT_EQ(wrong.outcome, VerdictClass::wrong) << wrong.feedback;
}

}  // namespace
}  // namespace warpsmith::sandbox

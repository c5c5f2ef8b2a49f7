// SPDX-License-Identifier: Apache-2.0
// Judges kernels of one small task of contract `cpu`, with one evaluator for a whole suite.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "tests/sandbox/support/evaluator_options.hpp"

namespace warpsmith::sandbox::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr const char* task_code = R"(
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

inline std::string solve(const std::string& body) {
  return "#include <cstdint>\nextern \"C\" void solve(const void* const* in, void* const* out, "
         "const int64_t*) {" +
         body + "}\n";
}

/// A kernel whose inner part is `body`, with r, row (input), y (output row), b (bias), C in scope.
inline std::string kernel(const std::string& body) {
  return "#include <cstdint>\n"
         "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims) {\n"
         "  const float* x = (const float*)in[0]; const float* b = (const float*)in[1];\n"
         "  float* o = (float*)out[0];\n"
         "  const int64_t R = dims[0], C = dims[1];\n"
         "  for (int64_t r = 0; r < R; ++r) {\n"
         "    const float* row = x + r * C; float* y = o + r * C;\n" +
         body + "  }\n}\n";
}

inline constexpr const char* honest_body =
    "    float s = 0; for (int64_t c = 0; c < C; ++c) s += row[c] + b[c];\n"
    "    s /= (float)C;\n"
    "    for (int64_t c = 0; c < C; ++c) y[c] = row[c] + b[c] - s;\n";

class EvaluatorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { open(on_core()); }
  static SandboxOptions on_core() {
    SandboxOptions options = test::evaluator_options();
    options.core = 0;
    options.cores = {compile_core()};
    return options;
  }
  static int compile_core() { return static_cast<int>(std::thread::hardware_concurrency()) - 1; }
  static void open(SandboxOptions options) {
    if (!std::filesystem::exists(python_interpreter())) return;
    auto opened = Evaluator::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator = std::make_unique<Evaluator>(std::move(*opened));
  }
  static void TearDownTestSuite() { evaluator.reset(); }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  }

  static Judgement judge(const std::string& source, Request want = Request::verify,
                         const std::string& code = task_code, milliseconds patience = seconds(500),
                         const Progress& progress = {}) {
    const Task task{.id = "task", .code = code, .content_hash = sha256_hex(code)};
    evaluator->on_progress(progress);
    auto judgement =
        evaluator->evaluate(request_for(task, source, want), Deadline::after(patience));
    evaluator->on_progress({});
    return judgement;
  }

  static EvaluateRequest request_for(const Task& task, const std::string& source, Request want) {
    EvaluateRequest request;
    request.task = task;
    request.submission = {.task_id = task.id, .files = {{"kernel.cpp", source}}};
    request.want = want;
    return request;
  }

  static Verdict verdict(const std::string& source, Request want = Request::verify,
                         const std::string& code = task_code) {
    Judgement judgement = judge(source, want, code);
    if (const auto* infra = std::get_if<InfraFailure>(&judgement)) {
      ADD_FAILURE() << to_string(infra->kind) << ": " << infra->detail;
      return {};
    }
    return std::get<Verdict>(std::move(judgement));
  }

  static VerdictClass outcome(const std::string& body) { return verdict(kernel(body)).outcome; }

  inline static std::unique_ptr<Evaluator> evaluator;
};

/// Right to three digits, which `strict` refuses.
inline constexpr const char* coarse_body =
    "    float s = 0; for (int64_t c = 0; c < C; ++c) s += row[c] + b[c];\n"
    "    s /= (float)C;\n"
    "    for (int64_t c = 0; c < C; ++c) y[c] = (row[c] + b[c] - s) * 1.005f;\n";

}  // namespace warpsmith::sandbox::test

// SPDX-License-Identifier: Apache-2.0
// An evaluator on the CPU or on a GPU, and judgements of ModelNew files, for tests of contract
// `host`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/bytes.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/sandbox/support/evaluator_options.hpp"

namespace warpsmith::sandbox::test {

/// Adds a bias to each row and subtracts the row's mean.
inline constexpr const char* centred_code = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.bias = nn.Parameter(torch.rand(columns))
    def forward(self, x, scale):
        x = x * scale + self.bias
        return x - x.mean(-1, keepdim=True)
def get_inputs():
    return [torch.randn(512, 256), 2.0]
def get_init_inputs():
    return [256]
)";

/// ModelNew whose forward(self, x, scale) is `forward`; "; " separates lines.
inline std::string model_new(std::string forward, const std::string& before = "",
                             const std::string& init = "") {
  const auto lines = [](std::string text) {
    for (size_t at = text.find("; "); at != std::string::npos; at = text.find("; ", at)) {
      text.replace(at, 2, "\n        ");
    }
    return text;
  };
  return "import torch\nimport torch.nn as nn\n" + before +
         "\nclass ModelNew(nn.Module):\n"
         "    def __init__(self, columns):\n"
         "        super().__init__()\n"
         "        self.bias = nn.Parameter(torch.zeros(columns))\n        " +
         lines(init) + "\n    def forward(self, x, scale):\n        " + lines(std::move(forward)) +
         "\n";
}

/// A file below configs/examples.
inline std::string example_text(const std::string& file) {
  auto text = read_text_file("configs/examples/" + file, 1U << 20U);
  if (!text) throw std::runtime_error(text.error().message);
  return *text;
}

/// The solution of configs/examples/host_workspace.
inline FileSet example_workspace() {
  FileSet files;
  for (const char* name :
       {"model_new.py", "kernels/gated_sum.cu", "kernels/gated_sum_binding.cpp"}) {
    files[name] = example_text(std::string("host_workspace/solution/") + name);
  }
  return files;
}

/// The text with the first `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

inline constexpr const char* honest_forward =
    "y = torch.addcmul(self.bias, x, torch.full((), scale)); "
    "return y - y.sum(-1, keepdim=True) * (1 / 256)";

/// All suites share one evaluator, so that the worker starts once and a task is measured once.
class HostJudged : public ::testing::Test {
 public:
  static void close() { evaluator().reset(); }

 protected:
  static void SetUpTestSuite() { open_on(std::nullopt); }
  static void open_on(std::optional<int> core) {
    if (evaluator() != nullptr || !std::filesystem::exists(python_interpreter())) return;
    SandboxOptions options = evaluator_options();
    options.core = core;
    options.settings.call_timeout = std::chrono::milliseconds{3'000};
    // Just torch/extension.h takes 45 s of a core that other tests may share.
    options.settings.compile_timeout = std::chrono::seconds{60};
    open(std::move(options));
  }
  /// Opens the evaluator on the first GPU; `lacking` says why there is none.
  static void open_on_gpu() {
    if (evaluator() != nullptr || !std::filesystem::exists(python_interpreter())) return;
    const auto driver = cuda::Driver::load();
    lacking() = driver ? "" : driver.error().message;
    if (!driver) return;
    SandboxOptions options = evaluator_options();
    options.gpu = 0;
    options.core = sched_getcpu();  // both sides of a call, as in a run
    options.settings.call_timeout = std::chrono::milliseconds{10'000};
    open(std::move(options));
  }
  static void open(SandboxOptions options) {
    auto opened = Evaluator::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    evaluator() = std::make_unique<Evaluator>(std::move(*opened));
  }
  void SetUp() override {
    if (evaluator() != nullptr) return;
    GTEST_SKIP() << (lacking().empty() ? "no WARPSMITH_PYTHON" : lacking());
  }

  static Judgement judge(FileSet files, Request want = Request::verify,
                         const std::string& code = centred_code,
                         std::chrono::seconds within = std::chrono::seconds{900}) {
    EvaluateRequest request;
    request.task = {.id = "task", .code = code, .content_hash = sha256_hex(code)};
    request.submission = {"task", "host", std::move(files)};
    request.want = want;
    return evaluator()->evaluate(request, Deadline::after(within));
  }
  static Verdict verdict(FileSet files, Request want = Request::verify,
                         const std::string& code = centred_code) {
    Judgement judgement = judge(std::move(files), want, code);
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      ADD_FAILURE() << to_string(failure->kind) << ": " << failure->detail;
      return {};
    }
    return std::get<Verdict>(std::move(judgement));
  }
  static Verdict verdict(const std::string& model, Request want = Request::verify,
                         const std::string& code = centred_code) {
    return verdict(FileSet{{"model_new.py", model}}, want, code);
  }

  static std::string& lacking() {
    static std::string text;
    return text;
  }
  static std::unique_ptr<Evaluator>& evaluator() {
    static std::unique_ptr<Evaluator> made;
    return made;
  }
};

}  // namespace warpsmith::sandbox::test

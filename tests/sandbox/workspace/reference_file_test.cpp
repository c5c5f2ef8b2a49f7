// SPDX-License-Identifier: Apache-2.0
// The agent's reference.py runs and makes the task's model, for tasks of other authors too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/workspace/task_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t max_task_bytes = 1U << 20U;
constexpr const char* sample = "../shared/kernelbench-sample";
constexpr const char* cases = "../shared/cases/tasks";

std::vector<fs::path> task_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ReferenceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(python_interpreter())) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  }

  /// Adds a task with the reference.py that its agent gets.
  void add(const std::string& name, const std::string& code) {
    const auto reference = reference_file(code);
    ASSERT_TRUE(reference) << name << ": " << reference.error().message;
    const fs::path place = folder_.path() / name;
    fs::create_directories(place);
    std::ofstream{place / "task.py"} << code;
    std::ofstream{place / "reference.py"} << *reference;
    words_.push_back(place.string());
  }
  void add_all(const fs::path& folder) {
    for (const fs::path& file : task_files(folder)) {
      const auto code = read_text_file(file, max_task_bytes);
      ASSERT_TRUE(code) << code.error().message;
      add(file.stem().string(), *code);
    }
  }
  /// The complaints of run_reference.py; empty if there are none.
  std::string complaints() {
    ChildSpec spec;
    spec.argv = {python_interpreter().string(), "tests/sandbox/workspace/run_reference.py"};
    spec.argv.insert(spec.argv.end(), words_.begin(), words_.end());
    auto child = Child::start(spec);
    if (!child) return child.error().message;
    const ChildExit end = child->wait(Deadline::after(std::chrono::seconds{100}));
    return end.exit_code == 0 ? "" : end.out + end.err;
  }

  test_support::TemporaryFolder folder_;
  std::vector<std::string> words_;
};

TEST_F(ReferenceFileTest, HoldsWhatTheModelUsesDirectlyOrNot) {
  add("helpers", R"py(
import torch
import torch.nn as nn
BASE = 2
EPS = BASE * 1e-3
TABLE = {"scale": 3.0}
TABLE["shift"] = 1.0
if BASE > 1:
    LIMIT = 6.0
def clipped(x): return x.clamp(max=LIMIT)
def register(cls):
    cls.extra = 7
    return cls
@register
class Gate(nn.Module):
    def forward(self, x):
        return clipped(x) * TABLE["scale"] + TABLE["shift"]
def twice(x):
    return 2 * x
SIZES = [
4, 8,
]
class Model(nn.Module):
    def __init__(self, scale, kind):
        super().__init__()
        self.scale = scale
        self.gate = globals()[kind]()
    def forward(self, x):
        return self.gate(x) * self.scale + EPS
Model.forward = (lambda old: lambda self, x: twice(old(self, x)))(Model.forward)
def get_inputs():
    return [torch.randn(*SIZES)]
KIND = "Gate"
def get_init_inputs():
    return [0.37, KIND]
)py");
  EXPECT_EQ(complaints(), "");
}

TEST_F(ReferenceFileTest, RunsWithLineEndsOfWindows) {
  add("crlf",
      "import torch\r\n\r\nEPS = 1\r\n\r\nclass Model(torch.nn.Module):\r\n"
      "    def forward(self, x):\r\n        return x + EPS\r\n\r\n"
      "def get_inputs():\r\n    return [torch.randn(4)]\r\n\r\ndef get_init_inputs():\r\n"
      "    return []\r\n");
  EXPECT_EQ(complaints(), "");
}

TEST_F(ReferenceFileTest, RunsForEveryTaskOfTheProject) {
  for (const char* folder : {"cpu/train", "cpu/heldout", "cuda/train", "cuda/heldout"}) {
    add_all(fs::path("configs/tasks") / folder);
  }
  EXPECT_EQ(words_.size(), 64U);
  EXPECT_EQ(complaints(), "");
}

TEST_F(ReferenceFileTest, RunsForEveryTaskOfTheSample) {
  if (!fs::exists(sample)) GTEST_SKIP() << "no " << sample;
  add_all(sample);
  EXPECT_EQ(words_.size(), 24U);
  EXPECT_EQ(complaints(), "");
}

TEST_F(ReferenceFileTest, RunsForSmallTasksAfterReports) {
  if (!fs::exists(cases)) GTEST_SKIP() << "no " << cases;
  for (const char* name : {"helper_class", "module_fn", "module_global", "crlf", "masked_mean"}) {
    const auto code = read_text_file(fs::path(cases) / (std::string(name) + ".py"), max_task_bytes);
    ASSERT_TRUE(code) << code.error().message;
    add(name, *code);
  }
  EXPECT_EQ(complaints(), "");
}

}  // namespace
}  // namespace warpsmith::sandbox

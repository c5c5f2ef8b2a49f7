// SPDX-License-Identifier: Apache-2.0
// The bound's margins on both sides for every task of the project, as ingest measures them: honest
// float32 in any order of sums passes everywhere, lower precisions fail, no wrong answer of the
// gate passes. Prints them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::vector<fs::path> tasks_below(const char* folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".py") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Task task_at(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream code;
  code << file.rdbuf();
  return {.id = path.stem(), .code = code.str(), .content_hash = sha256_hex(code.str())};
}

class MarginsTest : public testing::TestWithParam<fs::path> {
 protected:
  static void SetUpTestSuite() {
    if (python_interpreter().empty()) return;
    auto started = ReferenceWorker::start(
        {.python = python_interpreter().string(), .cache_folder = WARPSMITH_TEST_CACHE},
        Deadline::after(seconds(120)));
    ASSERT_TRUE(started) << started.error().message;
    worker = std::make_unique<ReferenceWorker>(std::move(*started));
    std::printf("error / bound, per distribution: eager, worst honest order; tf32, bf16\n");
  }
  static void TearDownTestSuite() { worker.reset(); }
  static std::unique_ptr<ReferenceWorker> worker;
};
std::unique_ptr<ReferenceWorker> MarginsTest::worker;

TEST_P(MarginsTest, HonestOrdersPassLowerPrecisionsFailAndNoMutantPasses) {
  if (python_interpreter().empty()) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = task_at(GetParam());
  const auto record = ingest_task({.worker = *worker,
                                   .machine = machine,
                                   .task = task,
                                   .settings = {},
                                   .scope = IngestScope::verified},
                                  Deadline::after(seconds(300)));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  double tf32 = 0, bf16 = 0;
  std::printf("%-26s", task.id.c_str());
  for (const DistributionFacts& facts : record->distributions) {
    EXPECT_TRUE(facts.kept) << to_string(facts.distribution);
    EXPECT_LT(facts.honest_error, 0.7) << to_string(facts.distribution);
    tf32 = std::max(tf32, facts.tf32_error);
    bf16 = std::max(bf16, facts.bf16_error);
    std::printf(" | %.2g %.2g %.2g %.2g", facts.eager_error, facts.honest_error, facts.tf32_error,
                facts.bf16_error);
  }
  std::printf("\n");
  EXPECT_GT(tf32, 1.5);
  EXPECT_GT(bf16, 10);
}

INSTANTIATE_TEST_SUITE_P(OurTasks, MarginsTest,
                         ::testing::ValuesIn(tasks_below("configs/tasks/cpu")),
                         [](const auto& task) { return task.param.stem().string(); });

std::vector<fs::path> tasks_with_hidden_sizes() {
  std::vector<fs::path> paths = tasks_below("configs");
  std::erase_if(paths, [](const fs::path& path) { return !ragged_task(task_at(path)); });
  return paths;
}

/// On hidden sizes, those of tasks for GPUs too, the gate must detect wrong answers as well.
class HiddenSizesTest : public MarginsTest {};

TEST_P(HiddenSizesTest, CanBeJudged) {
  if (python_interpreter().empty()) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = ragged_task(task_at(GetParam())).value();
  const auto record = ingest_task({.worker = *worker,
                                   .machine = machine,
                                   .task = task,
                                   .settings = {},
                                   .scope = IngestScope::verified},
                                  Deadline::after(seconds(300)));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
}

INSTANTIATE_TEST_SUITE_P(OurTasks, HiddenSizesTest, ::testing::ValuesIn(tasks_with_hidden_sizes()),
                         [](const auto& task) {
                           const auto& path = task.param;
                           return path.stem() == "reference"
                                      ? path.parent_path().filename().string()
                                      : path.stem().string();
                         });

}  // namespace
}  // namespace warpsmith::sandbox::test

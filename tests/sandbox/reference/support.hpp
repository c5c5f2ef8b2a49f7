// SPDX-License-Identifier: Apache-2.0
// Tasks and a worker for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/bytes.hpp"
#include "runtime/environment.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::test {

using std::chrono::seconds;
using test_support::TemporaryFolder;

inline Task task_of(const std::string& id, const std::string& code) {
  return Task{.id = id, .source = "test", .code = code, .content_hash = sha256_hex(code)};
}

/// A task of rows of 256 whose forward(x, w?) has the given body.
inline std::string simple_code(const std::string& forward) {
  return "import torch\nimport torch.nn as nn\n"
         "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.weight = nn.Parameter(torch.rand(256))\n"
         "        self.bias = nn.Parameter(torch.zeros(256))\n"
         "    def forward(self, x):\n"
         "        " +
         forward +
         "\n"
         "def get_inputs():\n    return [torch.randn(512, 256)]\n"
         "def get_init_inputs():\n    return []\n";
}

inline WorkerOptions worker_options(const std::string& cache_folder) {
  return {.python = python_interpreter().string(),
          .cache_folder = test_support::with_shared_baselines(cache_folder)};
}

inline bool holds_precompiled_header(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".gch") return true;
  }
  return false;
}

/// Skips the test if the build has no Python environment with torch.
#define REQUIRE_TORCH() \
  if (python_interpreter().empty()) GTEST_SKIP() << "no WARPSMITH_PYTHON"

/// One worker on the CPU for a whole suite.
class WorkerFixture : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (python_interpreter().empty()) return;
    folder = std::make_unique<TemporaryFolder>();
    auto started =
        ReferenceWorker::start(worker_options(folder->path()), Deadline::after(seconds(120)));
    ASSERT_TRUE(started) << started.error().message;
    worker = std::make_unique<ReferenceWorker>(std::move(*started));
  }
  static void TearDownTestSuite() {
    worker.reset();
    folder.reset();
  }
  void SetUp() override { REQUIRE_TORCH(); }

  inline static std::unique_ptr<TemporaryFolder> folder;
  inline static std::unique_ptr<ReferenceWorker> worker;
};

}  // namespace warpsmith::sandbox::test

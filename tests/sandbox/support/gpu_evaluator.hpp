// SPDX-License-Identifier: Apache-2.0
// One evaluator with GPU 0 for a whole suite; skips if there is none.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/environment.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::testing {

class GpuEvaluator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { open({}); }
  static void open(std::vector<std::string> baselines) {
    if (!std::filesystem::exists(python_interpreter())) {
      lacking = "no WARPSMITH_PYTHON";
      return;
    }
    folder = std::make_unique<test_support::TemporaryFolder>();
    auto opened = Evaluator::open({.program = sandbox_program(),
                                   .python = python_interpreter().string(),
                                   .cache_dir = folder->path(),
                                   .gpu = 0,
                                   .baselines = std::move(baselines)});
    if (opened) {
      evaluator = std::make_unique<Evaluator>(std::move(*opened));
    } else {
      ASSERT_EQ(opened.error().code, ErrorCode::unsupported) << opened.error().message;
      lacking = opened.error().message;
    }
  }
  static void TearDownTestSuite() {
    evaluator.reset();
    folder.reset();
  }
  void SetUp() override {
    if (evaluator == nullptr) GTEST_SKIP() << lacking;
  }

  inline static std::unique_ptr<test_support::TemporaryFolder> folder;
  inline static std::unique_ptr<Evaluator> evaluator;
  inline static std::string lacking;
};

}  // namespace warpsmith::sandbox::testing

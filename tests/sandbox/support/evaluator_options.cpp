// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/evaluator_options.hpp"

#include <numeric>
#include <thread>

#include "runtime/environment.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::test {

EvaluatorOptions evaluator_options() {
  static const test_support::TemporaryFolder folder;
  std::vector<int> cores(std::thread::hardware_concurrency());
  std::iota(cores.begin(), cores.end(), 0);
  return {.runner = WARPSMITH_TEST_RUNNER,
          .python = python_interpreter().string(),
          .worker_folder = "sandbox/reference/worker",
          .cache_folder = test_support::with_shared_baselines(folder.path()),
          .compile_cores = std::move(cores)};
}

}  // namespace warpsmith::sandbox::test

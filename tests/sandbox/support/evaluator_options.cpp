// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/evaluator_options.hpp"

#include <numeric>
#include <thread>

#include "runtime/environment.hpp"
#include "tests/support/shared_baselines.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::test {

SandboxOptions evaluator_options() {
  static const test_support::TemporaryFolder folder;
  std::vector<int> cores(std::thread::hardware_concurrency());
  std::iota(cores.begin(), cores.end(), 0);
  return {.program = WARPSMITH_TEST_RUNNER,
          .python = python_interpreter().string(),
          .cache_dir = test_support::with_shared_baselines(folder.path()),
          .cores = std::move(cores)};
}

}  // namespace warpsmith::sandbox::test

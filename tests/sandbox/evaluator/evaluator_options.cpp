// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/evaluator/evaluator_options.hpp"

#include "runtime/environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::test {

EvaluatorOptions evaluator_options() {
  static const test_support::TemporaryFolder folder;
  return {.runner = WARPSMITH_TEST_RUNNER,
          .python = python_interpreter().string(),
          .worker_folder = "sandbox/reference/worker",
          .cache_folder = folder.path().string()};
}

}  // namespace warpsmith::sandbox::test

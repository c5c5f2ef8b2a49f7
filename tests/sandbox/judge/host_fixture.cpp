// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/judge/host_fixture.hpp"

namespace warpsmith::sandbox::test {

std::string host_test_program() {
  return WARPSMITH_TEST_RUNNER;
}

}  // namespace warpsmith::sandbox::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/sandbox/support/host_fixture.hpp"

#include "tests/support/after_all_tests.hpp"

namespace warpsmith::sandbox::test {
namespace {

const bool registered = test_support::after_all_tests(HostJudged::close);

}  // namespace
}  // namespace warpsmith::sandbox::test

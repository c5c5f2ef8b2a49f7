// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bench/self_check.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::compile_kernel;
using testing::hang_guard;

TEST(SelfCheckTest, FiguresAreSane) {
  SelfCheckOptions options{testing::sandbox_program(), compile_kernel(self_check_kernel), 0, 50};
  const auto figures = self_check(options, hang_guard());
  ASSERT_TRUE(figures) << figures.error().message;
  std::printf("raw %.1f us (min %.1f), stop %.1f us, noop %.2f us, loop %.1f us, start %.1f ms\n",
              figures->raw_overhead_us, figures->subtracted_us, figures->stop_us, figures->noop_us,
              figures->loop_us, figures->start_ms);
  // Loose bounds, for a loaded machine; `bench commit` has those of a quiet one.
  EXPECT_GT(figures->subtracted_us, 0);
  EXPECT_LT(figures->subtracted_us, 100);
  EXPECT_GT(figures->loop_us, 900);
}

}  // namespace
}  // namespace warpsmith::sandbox

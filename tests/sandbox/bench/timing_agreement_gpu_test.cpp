// SPDX-License-Identifier: Apache-2.0
// Three clocks on GPU 0 over kernels long enough for every bar.
#include <gtest/gtest.h>

#include "runtime/environment.hpp"
#include "sandbox/bench/timing_agreement.hpp"
#include "sandbox/commit/contestant.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::in_seconds;

TEST(TimingAgreementGpuTest, ClocksAgreeAboutLongKernels) {
  const test_support::TemporaryFolder folder;
  const std::string python = python_interpreter().string();
  const CorePin pin(0);
  auto slot = GpuSlot::open({.gpu = 0, .python = python, .cache_folder = folder.path()});
  if (!slot && slot.error().code == ErrorCode::unsupported) GTEST_SKIP() << slot.error().message;
  ASSERT_TRUE(slot) << slot.error().message;
  auto toolchain = find_cuda_toolchain(built_with_toolkit(), python);
  if (!toolchain) GTEST_SKIP() << toolchain.error().message;
  auto compiler =
      CudaCompiler::open({{.program = testing::sandbox_program(), .cache_dir = folder.path()},
                          std::move(*toolchain),
                          (*slot)->architecture()},
                         in_seconds(60));
  ASSERT_TRUE(compiler) << compiler.error().message;
  DeviceLaunchers launchers(
      {.program = testing::sandbox_program(), .gpu = (*slot)->access(), .core = 0});
  const AgreementJob job{.gpu = 0,
                         .slot = **slot,
                         .launchers = launchers,
                         .compiler = *compiler,
                         .targets_us = {200, 2000},
                         .calls = 21,
                         .progress = [](const std::string&) {}};
  const auto rows = measure_agreement(job, in_seconds(240));
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 6U);
  for (const AgreementRow& row : *rows) {
    EXPECT_GT(row.events_us, row.target_us / 2) << row.kernel;
    EXPECT_TRUE(row.graph_agrees())
        << row.kernel << ": " << row.graph_us << " against " << row.events_us << " us";
    EXPECT_TRUE(row.commit_agrees())
        << row.kernel << ": " << row.commit_us << " against " << row.events_us << " us";
  }
}

}  // namespace
}  // namespace warpsmith::sandbox

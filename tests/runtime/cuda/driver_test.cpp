// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.hpp"

#include <gtest/gtest.h>

#include "runtime/cuda/canary.hpp"

namespace warpsmith::cuda {
namespace {

TEST(DynamicLibraryTest, TakesTheFirstNameThatLoads) {
  const auto library = DynamicLibrary::open({"libno-such-thing.so.7", "libc.so.6"});
  ASSERT_TRUE(library.has_value()) << library.error().message;
  EXPECT_NE(library->find("getpid"), nullptr);
  EXPECT_EQ(library->find("no_such_symbol"), nullptr);
}

TEST(DynamicLibraryTest, NamesTheFirstLibraryWhenNoneLoads) {
  const auto library = DynamicLibrary::open({"libno-such-thing.so.7", "libnor-this.so"});
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, ErrorCode::unsupported);
  EXPECT_NE(library.error().message.find("libno-such-thing.so.7"), std::string::npos);
}

TEST(DriverTest, VersionsAreFormattedAsMajorDotMinor) {
  EXPECT_EQ(version_text(13000), "13.0");
  EXPECT_EQ(version_text(12080), "12.8");
}

TEST(DriverTest, ADriverWithAnOlderMajorVersionIsReportedWithTheRemedy) {
  const auto old = check_cuda_version(12080, 13000);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::unsupported);
  EXPECT_EQ(old.error().message,
            "the driver supports CUDA 12.8, but this build needs CUDA 13.0: install a newer "
            "driver, or NVIDIA's package cuda-compat where that supports the GPU");
  for (const int driver : {13000, 13010, 14000}) {
    EXPECT_TRUE(check_cuda_version(driver, 13010)) << driver;
  }
  EXPECT_TRUE(check_cuda_version(12080, 0)) << "built without a toolkit";
}

TEST(DriverTest, ModuleVersionIsTheFirstDottedNumber) {
  EXPECT_EQ(module_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  "
                           "Release Build\nGCC version: gcc version 13.3.0\n"),
            "580.159.04");
  EXPECT_EQ(module_version("something else"), "");
  EXPECT_EQ(module_version(""), "");
}

TEST(DriverTest, MachineWithoutADriverIsUnsupported) {
  const auto driver = Driver::load();
  if (driver) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(driver.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(driver.error().message.empty());
}

TEST(CanaryTest, ReturnsTheCorrectResultAndItsMemory) {
  const auto driver = Driver::load();
  if (!driver) GTEST_SKIP() << driver.error().message;
  if (!canary_is_built()) GTEST_SKIP() << "built without a CUDA toolkit";
  const auto gpus = driver->gpus();
  ASSERT_TRUE(gpus.has_value()) << gpus.error().message;
  ASSERT_FALSE(gpus->empty());
  EXPECT_GT(gpus->front().memory_bytes, 0);
  const auto report = run_canary(0);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->result_correct);
  EXPECT_EQ(report->free_after, report->free_before);
  EXPECT_GT(report->kernel_us, 0);
  EXPECT_LT(report->kernel_us, 10'000);
}

}  // namespace
}  // namespace warpsmith::cuda

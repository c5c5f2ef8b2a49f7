// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "commands/doctor/doctor_checks.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

class DoctorDeviceTest : public testing::Test {
 protected:
  void make(const std::string& file) const { std::ofstream(folder_.path() / file) << "x"; }
  std::string path(const std::string& file) const { return (folder_.path() / file).string(); }

  test_support::TemporaryFolder folder_;
  Findings findings_;
};

TEST_F(DoctorDeviceTest, MathLibrariesAreReportedWithTheirFolder) {
  make("libcublasLt.so.13");
  check_math_libraries(findings_, {path("nowhere"), folder_.path().string()});
  ASSERT_EQ(findings_.size(), 2U);
  EXPECT_EQ(findings_[0].name, "cublas");
  EXPECT_EQ(findings_[0].state, FindingState::good);
  EXPECT_EQ(std::get<std::string>(findings_[0].value), folder_.path().string());
  EXPECT_EQ(findings_[1].name, "cudnn");
  EXPECT_EQ(findings_[1].state, FindingState::absent);
  EXPECT_THAT(findings_[1].advice, HasSubstr("conv steps do not work"));
}

TEST_F(DoctorDeviceTest, EveryMissingDeviceNodeIsNamed) {
  make("nvidiactl");
  check_device_nodes(findings_, folder_.path());
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_EQ(findings_[0].state, FindingState::absent);
  EXPECT_EQ(std::get<std::string>(findings_[0].value),
            "no " + path("nvidia-uvm") + ", " + path("nvidia-uvm-tools"));
  EXPECT_FALSE(findings_[0].advice.empty());
}

TEST_F(DoctorDeviceTest, ReachableHostMemoryIsReportedWithTheRemedy) {
  check_host_memory(findings_, {.index = 2});
  check_host_memory(findings_, {.index = 3, .host_memory_apart = true});
  ASSERT_EQ(findings_.size(), 2U);
  EXPECT_EQ(findings_[0].name, "host_memory_2");
  EXPECT_EQ(findings_[0].state, FindingState::absent);
  EXPECT_THAT(findings_[0].advice, HasSubstr("options nvidia_uvm uvm_disable_hmm=1"));
  EXPECT_THAT(findings_[0].advice, HasSubstr("lowered trust class"));
  EXPECT_EQ(findings_[1].name, "host_memory_3");
  EXPECT_EQ(findings_[1].state, FindingState::good);
  EXPECT_TRUE(findings_[1].advice.empty());
}

TEST_F(DoctorDeviceTest, NoAdviceIfAllNodesExist) {
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) make(node);
  check_device_nodes(findings_, folder_.path());
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_EQ(findings_[0].state, FindingState::good);
  EXPECT_TRUE(findings_[0].advice.empty());
}

}  // namespace
}  // namespace warpsmith::commands

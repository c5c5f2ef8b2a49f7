// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

Findings sample() {
  return {{"machine", "cores", int64_t{2}},
          {"machine", "memory_bytes", int64_t{3} << 29},
          {"jail", "bubblewrap", std::string{"not found"}, FindingState::missing, "install it"},
          {"gpu", "driver", false, FindingState::absent, "not needed here"}};
}

TEST(DoctorReportTest, TextGroupsByAreaAndEndsWithAdvice) {
  EXPECT_EQ(to_text(sample()),
            "machine\n"
            "    cores         2\n"
            "    memory_bytes  1.5 GiB\n"
            "jail\n"
            "  ! bubblewrap    not found\n"
            "gpu\n"
            "  - driver        no\n"
            "missing (!): nothing runs without it\n"
            "  jail bubblewrap: install it\n"
            "absent (-): works without it\n"
            "  gpu driver: not needed here\n");
}

TEST(DoctorReportTest, JsonKeepsTypesAndListsWhatIsMissing) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_EQ(json.at("areas").at("machine").at("memory_bytes"), int64_t{3} << 29);
  EXPECT_EQ(json.at("areas").at("gpu").at("driver"), false);
  EXPECT_EQ(json.at("missing").at(0).at("name"), "bubblewrap");
  EXPECT_EQ(json.at("absent").at(0).at("advice"), "not needed here");
}

TEST(DoctorReportTest, InvalidUtf8DoesNotBreakTheJson) {
  const auto json = nlohmann::json::parse(to_json({{"machine", "processor", "x\xff"}}));
  EXPECT_THAT(json.at("areas").at("machine").at("processor").get<std::string>(), HasSubstr("x"));
}

TEST(DoctorReportTest, AbsentPartsAreNotAFailure) {
  EXPECT_FALSE(all_present(sample()));
  EXPECT_TRUE(all_present({{"gpu", "driver", false, FindingState::absent, "x"}}));
}

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
  check_host_memory(findings_, {.index = 3, .host_memory_isolated = true});
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

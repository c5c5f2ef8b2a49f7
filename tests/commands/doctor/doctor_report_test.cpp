// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/doctor_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace warpsmith::commands

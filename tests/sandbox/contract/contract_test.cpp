// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/config/sandbox_config.hpp"

namespace warpsmith::sandbox {
namespace {

TEST(ContractListTest, ListsTheContractsInOrder) {
  EXPECT_THAT(contract_names(), ::testing::ElementsAre("cpu", "device", "host"));
  EXPECT_EQ(contract_named("host").required_file, "model_new.py");
  EXPECT_EQ(find_contract("rows"), nullptr);
}

TEST(ContractListTest, EachContractHasASkillAndRecognisesItsFiles) {
  for (const ContractEntry* entry : all_contracts()) {
    EXPECT_TRUE(std::filesystem::exists(skill_file(entry->name))) << entry->name;
    EXPECT_FALSE(entry->files.empty()) << entry->name;
    EXPECT_NE(entry->open, nullptr) << entry->name;
  }
}

TEST(ContractListTest, ConfigurationsNameTheSameContracts) {
  for (const std::string& name : contract_names()) {
    Complaints complaints{"test"};
    validate(SandboxConfig{.contract = name}, complaints);
    EXPECT_TRUE(complaints.result()) << name;
  }
  Complaints complaints{"test"};
  validate(SandboxConfig{.contract = "rows"}, complaints);
  const auto refused = complaints.result();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              ::testing::HasSubstr("expected \"cpu\", \"device\" or \"host\", got \"rows\""));
}

}  // namespace
}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/contract.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

/// y = f(x, linear.weight) with equal extents.
TaskSignature two_by_three() {
  const std::vector<int64_t> shape{2, 3};
  const std::vector<std::string> symbols{"d0", "d1"};
  return {.tensors = {{"x", TensorRole::input, Dtype::f32, shape, symbols},
                      {"linear.weight", TensorRole::parameter, Dtype::i32, {3}, {"d1"}},
                      {"y", TensorRole::output, Dtype::f32, shape, symbols}},
          .constants = {},
          .dim_names = symbols,
          .dims = shape};
}

TEST(ContractListTest, EachContractHasAFormWithFilesThatItRecognises) {
  for (const ContractEntry* entry : all_contracts()) {
    ASSERT_NE(entry->form, nullptr) << entry->name;
    const SubmissionForm form = entry->form(two_by_three());
    EXPECT_FALSE(form.entry_point.empty() || form.compile_line.empty()) << entry->name;
    const bool has_its_file = std::ranges::any_of(entry->files, [&](std::string_view file) {
      return form.files.contains(std::string(file));
    });
    EXPECT_TRUE(has_its_file) << entry->name;
  }
}

TEST(ContractListTest, TheFormOfContractCpuDeclaresEachBuffer) {
  const auto source = contract_named("cpu").form(two_by_three()).files.at("kernel.cpp");
  EXPECT_THAT(source, ::testing::HasSubstr("  const float* x = static_cast<const float*>(in[0]);  "
                                           "// input f32 [2, 3]: dims[0] to dims[1]\n"));
  EXPECT_THAT(source, ::testing::HasSubstr(
                          "  const int32_t* linear_weight = static_cast<const int32_t*>(in[1]);  "
                          "// parameter i32 [3]: dims[2]\n"));
  EXPECT_THAT(source, ::testing::HasSubstr("  float* y = static_cast<float*>(out[0]);  "
                                           "// output f32 [2, 3]: dims[3] to dims[4]\n"));
}

TEST(ContractListTest, TheFormOfContractDeviceIsAPlanOfOneKernel) {
  const auto files = contract_named("device").form(two_by_three()).files;
  EXPECT_EQ(files.at("plan.toml"),
            "[[step]]\nlaunch = \"solve\"\ngrid = [\"ceildiv(d0 * d1, 256)\"]\nblock = [256]\n"
            "args = [\"x\", \"linear.weight\", \"y\", \"d0\", \"d1\"]\n");
  EXPECT_THAT(files.at("kernels.cu"),
              ::testing::HasSubstr("solve(const float* x, const int32_t* linear_weight, float* y, "
                                   "long long d0, long long d1) {"));
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

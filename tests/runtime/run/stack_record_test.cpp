// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/stack_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith {
namespace {

StackRecord sample() {
  StackRecord stack = host_stack();
  stack.warpsmith = "0.1.0";
  stack.gpus.push_back({"NVIDIA H200", uint64_t{140} << 30U, "580.159.04", "sm_90"});
  stack.versions = {{"torch", "2.11.0+cu130"}, {"caf", "0.17.6"}};
  return stack;
}

TEST(StackRecordTest, HostIsDescribed) {
  const StackRecord stack = host_stack();
  EXPECT_GE(stack.cores, 1U);
  EXPECT_GT(stack.memory_bytes, uint64_t{1} << 20U);
  EXPECT_NE(stack.kernel.find("Linux"), std::string::npos);
  EXPECT_FALSE(stack.compiler.empty());
}

TEST(StackRecordTest, JsonHasEveryFieldUnderItsName) {
  const StackRecord stack = sample();
  const auto json = nlohmann::json::parse(to_json(stack));
  EXPECT_EQ(json.at("warpsmith"), "0.1.0");
  EXPECT_EQ(json.at("cores"), stack.cores);
  EXPECT_EQ(json.at("memory_bytes"), stack.memory_bytes);
  for (const auto& [key, value] : {std::pair{"compiler", stack.compiler},
                                   {"os", stack.os},
                                   {"kernel", stack.kernel},
                                   {"cpu", stack.cpu}}) {
    EXPECT_EQ(json.at(key), value);
  }
  EXPECT_EQ(json.at("gpus").at(0).at("arch"), "sm_90");
  EXPECT_EQ(json.at("gpus").at(0).at("memory_bytes"), uint64_t{140} << 30U);
  EXPECT_EQ(json.at("versions").at("caf"), "0.17.6");
}

TEST(StackRecordTest, InvalidUtf8DoesNotBreakTheJson) {
  StackRecord stack = sample();
  stack.cpu = "a\xFF";
  EXPECT_TRUE(nlohmann::json::accept(to_json(stack)));
}

TEST(StackRecordTest, DifferencesNameEachFieldWithBothValues) {
  const StackRecord before = sample();
  StackRecord now = before;
  EXPECT_TRUE(record_differences(to_json(before), to_json(now)).empty());
  now.gpus[0].arch = "sm_100";
  now.versions.erase("caf");
  EXPECT_EQ(record_differences(to_json(before), to_json(now)),
            (std::vector<std::string>{"/gpus/0/arch: \"sm_90\" before, \"sm_100\" now",
                                      "/versions/caf: \"0.17.6\" before, - now"}));
  EXPECT_FALSE(record_differences("torn", to_json(now)).empty());
}

}  // namespace
}  // namespace warpsmith

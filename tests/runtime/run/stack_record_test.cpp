// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/stack_record.hpp"

#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"

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

TEST(StackRecordTest, JsonRoundTripGivesTheSameRecordAndTheSameBytes) {
  const auto back = stack_from_json(to_json(sample()));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(to_json(*back), to_json(sample()));
}

TEST(StackRecordTest, UnknownKeyIsNamed) {
  const auto back = stack_from_json(R"({"gpuz": []})");
  ASSERT_FALSE(back.has_value());
  EXPECT_NE(back.error().message.find("gpuz"), std::string::npos);
}

TEST(StackRecordTest, MutatedTextNeverThrows) {
  RandomStream draw{7, "stack_record_test"};
  const std::string text = to_json(sample());
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = text;
    mutated[draw.below(mutated.size())] = static_cast<char>(draw.below(256));
    const auto back = stack_from_json(mutated);
    if (!back) {
      EXPECT_EQ(back.error().code, ErrorCode::parse_failed);
    }
  }
}

}  // namespace
}  // namespace warpsmith

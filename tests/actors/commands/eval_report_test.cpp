// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/eval_report.hpp"

#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"

namespace warpsmith::actors {
namespace {

const std::string printed =
    R"({"by_task":{"a":{"rewards":[1,-1.0,3]},"b":{"mean_reward":2,"rewards":[2]}},"tasks":2})";

TEST(EvalReportTest, RewardsOfAnEarlierEvaluationAreReadByTask) {
  const auto rewards = parse_eval_rewards(printed);
  ASSERT_TRUE(rewards.has_value()) << rewards.error().message;
  EXPECT_EQ(rewards->at("a"), (std::vector<double>{1, -1, 3}));
  EXPECT_EQ(rewards->at("b"), std::vector<double>{2});
}

TEST(EvalReportTest, WhatIsMissingOrWrongIsNamed) {
  const auto message = [](std::string_view text) {
    const auto rewards = parse_eval_rewards(text);
    return rewards ? std::string{} : rewards.error().message;
  };
  EXPECT_NE(message("{").find("by_task"), std::string::npos);
  EXPECT_NE(message(R"({"by_task":{"a":{}}})").find("by_task.a.rewards: expected a list"),
            std::string::npos);
  EXPECT_NE(message(R"({"by_task":{"a":{"rewards":["x"]}}})").find("got \"x\""), std::string::npos);
  const auto missing = read_eval_rewards("/no/such/file.json");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("/no/such/file.json"), std::string::npos);
}

TEST(EvalReportTest, MutatedTextIsReadOrRefused) {
  RandomStream random{3, "eval_report_test"};
  for (int round = 0; round < 2000; ++round) {
    std::string text = printed;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    }
    const auto rewards = parse_eval_rewards(text);
    EXPECT_TRUE(rewards || !rewards.error().message.empty()) << text;
  }
}

}  // namespace
}  // namespace warpsmith::actors

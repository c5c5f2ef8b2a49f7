// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/rejection.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace warpsmith::policy {
namespace {

using nlohmann::json;

TurnFacts turn_of(const json& turn) {
  TurnFacts facts{.invalid = turn["invalid"]};
  for (const json& call : turn["calls"]) {
    facts.calls.push_back({{call["name"], {{"x", call["argument"]}}}, call["name"] == "write"});
  }
  if (turn["verdict"].is_number()) facts.verdict = turn["verdict"].get<double>();
  return facts;
}

TrajectoryFacts trajectory_of(const json& trajectory) {
  TrajectoryFacts facts{trajectory["task"], trajectory["reward"], trajectory["tokens"], {}};
  for (const json& turn : trajectory["turns"]) facts.turns.push_back(turn_of(turn));
  return facts;
}

RftConfig config_of(const json& rules) {
  RftConfig config;
  config.per_task = rules["per_task"];
  config.stall_turns = rules["stall"];
  config.repeated_calls = rules["repeats"];
  config.invalid_calls = rules["whole"] ? InvalidCalls::trajectory : InvalidCalls::turn;
  return config;
}

TurnFacts turn(const std::string& name, bool edits = false, std::optional<double> verdict = {}) {
  return {{{{name, {}}, edits}}, false, verdict};
}

TEST(RejectionTest, MatchesASecondImplementationOfTheRules) {
  const json cases = json::parse(std::ifstream("tests/golden/rejection/golden.json"));
  std::set<std::string> seen;
  for (const json& one : cases) {
    std::vector<TrajectoryFacts> facts;
    for (const json& t : one["trajectories"]) facts.push_back(trajectory_of(t));
    const auto results = reject(facts, config_of(one["rules"]), one["rules"]["context"]);
    ASSERT_EQ(results.size(), one["results"].size());
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string result = results[i] ? std::string{to_string(*results[i])} : "";
      EXPECT_EQ(result, one["results"][i]) << one["trajectories"][i].dump();
      seen.insert(result);
    }
  }
  EXPECT_EQ(seen.size(), enum_names<Rejection>.size() + 1)
      << "every reason occurs, and a kept trajectory";
}

TEST(RejectionTest, ARepeatedCallIsRedundantUnlessAnEditIsBetween) {
  EXPECT_TRUE(repeats_a_call({turn("verify"), turn("verify")}));
  EXPECT_FALSE(repeats_a_call({turn("verify"), turn("edit", true), turn("verify")}));
  EXPECT_TRUE(repeats_a_call({turn("write", true), turn("verify"), turn("write", true)}))
      << "the first write is not between the two";
}

TEST(RejectionTest, OnlyABetterVerdictEndsAStall) {
  EXPECT_EQ(longest_stall({turn("a", false, 1.0), turn("b"), turn("c", false, 1.0), turn("d")}), 3);
  EXPECT_EQ(longest_stall({turn("a"), turn("b", false, 0.0), turn("c", false, 1.0)}), 1);
}

TEST(RejectionTest, TheHighestRewardsOfEachTaskAreKept) {
  std::vector<TrajectoryFacts> facts;
  for (const double reward : {1.0, 3.0, 2.0, 3.0})
    facts.push_back({"t", reward, 10, {turn("submit")}});
  RftConfig config;
  config.per_task = 2;
  const auto results = reject(facts, config, 100);
  EXPECT_EQ(results[0], Rejection::over_limit);
  EXPECT_EQ(results[1], std::nullopt);
  EXPECT_EQ(results[2], Rejection::over_limit);
  EXPECT_EQ(results[3], std::nullopt);
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "runtime/json.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "runtime/verdict.hpp"

namespace warpsmith {
namespace {

struct Sample {
  uint64_t seed = 0;
  std::array<uint32_t, 2> grid{};
  std::map<std::string, double> phases;
  JsonText evidence;

  WARPSMITH_RECORD(seed, grid, phases, evidence)
};

TEST(JsonTest, AVerdictSurvivesARoundTrip) {
  Verdict verdict;
  verdict.outcome = VerdictClass::oob_write;
  verdict.shapes = {{.shape = "a", .candidate_ms = 0.1, .speedup_eager_interval = Interval{1, 2}}};
  verdict.phase_ms["verify"] = 1e-300;
  verdict.evidence = R"({"seed":"7"})";
  const auto json = json_of(verdict);
  EXPECT_EQ(json["outcome"], "oob_write");
  EXPECT_EQ(json["shapes"][0]["speedup_eager_interval"], nlohmann::json::array({1.0, 2.0}));
  EXPECT_EQ(json["evidence"]["seed"], "7");
  const auto read = from_json<Verdict>(nlohmann::json::parse(json_text(json)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(json_of(*read), json);
}

TEST(JsonTest, NumbersThatOtherReadersWouldRoundAreStrings) {
  Sample sample{.seed = UINT64_MAX, .phases = {{"a", NAN}, {"b", -INFINITY}}};
  const auto json = json_of(sample);
  EXPECT_EQ(json["seed"], "18446744073709551615");
  EXPECT_EQ(json["phases"]["b"], "-inf");
  const auto read = from_json<Sample>(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->seed, UINT64_MAX);
  EXPECT_TRUE(std::isnan(read->phases.at("a")));
}

std::string complaint(const char* text) {
  const auto read = from_json_text<Verdict>(text, "journal.jsonl:3");
  return read ? "none" : read.error().message;
}

TEST(JsonTest, NamesThePlaceOfAWrongValue) {
  nlohmann::json whole = json_of(Verdict{});
  whole["shapes"] = nlohmann::json::array({json_of(ShapeResult{})});
  EXPECT_EQ(complaint(whole.dump().c_str()), "none");
  whole["shapes"][0]["eager_ms"] = "fast";
  EXPECT_EQ(complaint(whole.dump().c_str()),
            R"(journal.jsonl:3.shapes[0].eager_ms: expected a number, found "fast")");
  whole["shapes"] = nlohmann::json::array();
  whole["outcome"] = "great";
  EXPECT_EQ(complaint(whole.dump().c_str()),
            R"(journal.jsonl:3.outcome: expected one of the known names, found "great")");
  whole["outcome"] = "passed";
  whole["speed"] = 1;
  EXPECT_EQ(complaint(whole.dump().c_str()), "journal.jsonl:3.speed: unknown field");
  EXPECT_EQ(complaint("{}"), "journal.jsonl:3.outcome: the field is missing");
  EXPECT_EQ(complaint("{"), "journal.jsonl:3: not JSON");
}

TEST(JsonTest, RefusesNumbersOutOfRange) {
  auto json = json_of(Sample{});
  json["grid"] = {1, -2};
  EXPECT_EQ(from_json<Sample>(json).error().message,
            "grid[1]: expected a non-negative integer of its range, found -2");
  json["grid"] = {1, 4294967296};
  EXPECT_FALSE(from_json<Sample>(json));
  json["grid"] = {1};
  EXPECT_FALSE(from_json<Sample>(json));
}

}  // namespace
}  // namespace warpsmith

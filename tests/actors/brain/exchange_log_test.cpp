// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/exchange_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using nlohmann::json;

class ExchangeLogTest : public testing::Test {
 protected:
  ExchangeLog open(const std::string& secret = "") {
    return ExchangeLog::open(folder_.path(), secret).value();
  }
  std::string text(const std::string& name) const {
    return read_text_file(folder_.path() / "brain" / name, 1U << 20U).value_or("");
  }
  std::vector<json> lines() const {
    std::vector<json> all;
    std::ifstream file{folder_.path() / "brain" / "7.jsonl"};
    for (std::string line; std::getline(file, line);) all.push_back(json::parse(line));
    return all;
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(ExchangeLogTest, RecordsEveryMessageOnce) {
  ExchangeLog log = open();
  ASSERT_TRUE(log.asked({7, 1}, "url", {{R"({"a": 1})", R"({"a": 2})"}, R"({"model": "m"})"}));
  ASSERT_TRUE(log.failed({7, 1}, 429, "busy", 0.5));
  ASSERT_TRUE(log.answered({7, 1, 2}, R"({"message": {}})", 1.5));
  ASSERT_TRUE(log.asked({7, 2}, "url", {{R"({"a": 1})", R"({"a": 2})", R"({"a": 3})"}, "{}"}));
  const auto all = lines();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["messages"], (json{{{"a", 1}}, {{"a", 2}}}));
  EXPECT_EQ(all[0]["rest"], (json{{"model", "m"}}));
  EXPECT_EQ(all[1]["status"], 429);
  EXPECT_EQ(all[2]["attempt"], 2);
  EXPECT_EQ(all[3]["first_message"], 2);
  EXPECT_EQ(all[3]["messages"], json::array({{{"a", 3}}}));
}

/// A resume appends: the file of the killed run is whole up to its last line.
TEST_F(ExchangeLogTest, ALaterRunAppends) {
  ASSERT_TRUE(open().asked({7, 1}, "url", {{R"({"a": 1})"}, "{}"}));
  ASSERT_TRUE(open().asked({7, 1}, "url", {{R"({"a": 1})"}, "{}"}));
  EXPECT_EQ(lines().size(), 2U);
  EXPECT_EQ(lines()[1]["first_message"], 0);
}

/// The torn line does not swallow a later one.
TEST_F(ExchangeLogTest, ALaterRunContinuesAfterATornLine) {
  ASSERT_TRUE(open().asked({7, 1}, "url", {{R"({"a": 1})"}, "{}"}));
  std::ofstream(folder_.path() / "brain" / "7.jsonl", std::ios::app) << R"({"at": )";
  ASSERT_TRUE(open().asked({7, 1}, "url", {{R"({"a": 2})"}, "{}"}));
  const std::string all = text("7.jsonl");
  const size_t last = all.rfind('\n', all.size() - 2);
  EXPECT_EQ(json::parse(all.substr(last + 1))["messages"], json::array({{{"a", 2}}}));
}

TEST_F(ExchangeLogTest, NeverContainsTheKey) {
  const std::string key = "sk-abcdef123456";
  ExchangeLog log = open(key);
  ASSERT_TRUE(log.failed({7, 1}, 401, "Incorrect key " + key + ", twice " + key, 0));
  EXPECT_THAT(text("7.jsonl"), testing::Not(testing::HasSubstr(key)));
  EXPECT_THAT(text("7.jsonl"), testing::HasSubstr("Incorrect key [key], twice [key]"));
}

TEST_F(ExchangeLogTest, KeepsTheUsage) {
  EXPECT_EQ(open().usage().value(), BrainUsage{});
  ASSERT_TRUE(open().keep({5, 4, 30, 20, 0.5}));
  EXPECT_EQ(open().usage().value(), (BrainUsage{5, 4, 30, 20, 0.5}));
  EXPECT_EQ(usage_of_run(folder_.path()).value().requests, 5);
  EXPECT_EQ(usage_of_run(folder_.path() / "other").value(), BrainUsage{});
  std::ofstream{folder_.path() / "brain" / "usage.json"} << "{";
  EXPECT_THAT(open().usage().error().message, testing::HasSubstr("usage.json"));
}

}  // namespace
}  // namespace warpsmith::actors

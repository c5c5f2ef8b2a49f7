// SPDX-License-Identifier: Apache-2.0
#include "runtime/received_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith {
namespace {

TEST(ReceivedJsonTest, LoneSurrogatesAreReplaced) {
  EXPECT_EQ(without_lone_surrogates(R"("a \ud83d")"), R"("a \ufffd")");
  EXPECT_EQ(without_lone_surrogates(R"("\udc4b b")"), R"("\ufffd b")");
  EXPECT_EQ(without_lone_surrogates(R"("\uD83D\uD83D\uDC4B")"), R"("\ufffd\uD83D\uDC4B")");
  EXPECT_EQ(without_lone_surrogates(R"("\ud83d\n")"), R"("\ufffd\n")");
}

TEST(ReceivedJsonTest, OtherTextStays) {
  for (const char* text : {R"("\ud83d\udc4b")", R"("\\ud83d")", R"("\u00e9\"")", R"("\u12")",
                           R"("\)", "{}", "", R"("\uzzzz")"}) {
    EXPECT_EQ(without_lone_surrogates(text), text);
  }
}

TEST(ReceivedJsonTest, NullMembersAreDroppedButNotElementsAndKeptOnes) {
  auto value = nlohmann::json::parse(
      R"({"a": null, "b": [null, {"c": null, "d": 1}], "kept": {"e": null}, "f": {"g": null}})");
  drop_nulls(value, {"kept"});
  EXPECT_EQ(value,
            nlohmann::json::parse(R"({"b": [null, {"d": 1}], "kept": {"e": null}, "f": {}})"));
  auto ordered = nlohmann::ordered_json::parse(R"({"z": null, "y": null, "x": 1, "w": null})");
  drop_nulls(ordered);
  EXPECT_EQ(ordered.dump(), R"({"x":1})");
}

}  // namespace
}  // namespace warpsmith

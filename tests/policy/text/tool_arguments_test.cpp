// SPDX-License-Identifier: Apache-2.0
#include "policy/text/tool_arguments.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::policy {
namespace {

using Json = nlohmann::ordered_json;

/// The value of a parameter that was written as text.
Json typed(const std::string& text, const Json& schema, const Json& definitions = {}) {
  const Json parameters{{"properties", {{"p", schema}}}, {"$defs", definitions}};
  return typed_arguments({"f", {{"p", text}}}, "", parameters)["p"];
}

Json type(const Json& name) {
  return {{"type", name}};
}

TEST(ToolArgumentsTest, AParameterWithoutATypeIsAString) {
  EXPECT_EQ(typed("5", Json::object()), "5");
  EXPECT_EQ(typed("5", {{"description", "a number"}}), "5");
  EXPECT_EQ(typed_arguments({"f", {{"other", "5"}}}, "", {})["other"], "5");
}

TEST(ToolArgumentsTest, ATextHasTheTypeOfItsSchema) {
  EXPECT_EQ(typed("5", type("string")), "5");
  EXPECT_EQ(typed("5", type("integer")), 5);
  EXPECT_EQ(typed("5.0", type("integer")).dump(), "5");
  EXPECT_EQ(typed("2.5", type("number")), 2.5);
  EXPECT_EQ(typed("true", type("boolean")), true);
  EXPECT_EQ(typed("[1]", type("array")), Json::array({1}));
  EXPECT_EQ(typed(R"({"a": 1})", type("object")), (Json{{"a", 1}}));
}

TEST(ToolArgumentsTest, ATextThatDoesNotFitStaysAString) {
  EXPECT_EQ(typed("five", type("integer")), "five");
  EXPECT_EQ(typed("2.5", type("integer")), "2.5");
  EXPECT_EQ(typed("null", type("integer")), "null");
  EXPECT_EQ(typed("5", type("boolean")), "5");
}

TEST(ToolArgumentsTest, UnionsAllowEachOfTheirTypes) {
  const Json any{{"anyOf", {type("integer"), type("null")}}};
  for (const Json& schema : {type({"integer", "null"}), any}) {
    EXPECT_EQ(typed("5", schema), 5);
    EXPECT_TRUE(typed("null", schema).is_null());
    EXPECT_EQ(typed("x", schema), "x");
  }
  EXPECT_EQ(typed("x", type({"string", "null"})), "x");
  EXPECT_EQ(typed("5", type({"string", "null"})), "5");
}

TEST(ToolArgumentsTest, ReferencesAreFollowedAndMayTurnInCircles) {
  EXPECT_EQ(typed("5", {{"$ref", "#/$defs/Size"}}, {{"Size", type("integer")}}), 5);
  const Json circle{{"anyOf", {{{"$ref", "#/$defs/A"}}, {{"$ref", "#/$defs/A"}}}}};
  EXPECT_EQ(typed("5", {{"$ref", "#/$defs/A"}}, {{"A", circle}}), "5");
  EXPECT_EQ(typed("5", {{"$ref", "#/$defs/missing"}}), "5");
  EXPECT_EQ(typed("5", {{"$ref", "#~"}}), "5");
}

TEST(ToolArgumentsTest, AnEnumerationAllowsItsValues) {
  EXPECT_EQ(typed("1", {{"enum", {"1", "2"}}}), "1");
  EXPECT_EQ(typed("1", {{"enum", {1, 2}}}), 1);
  EXPECT_EQ(typed("3", {{"enum", {1, 2}}}), "3");
  EXPECT_EQ(typed("true", {{"const", true}}), true);
}

TEST(ToolArgumentsTest, TypesThatTheModelWroteAreKept) {
  const Json parameters{{"properties", {{"a", type("integer")}}}};
  const std::string written = R"({"b":5,"a":"5","c":null})";
  EXPECT_EQ(typed_arguments({"f", {{"a", "5"}, {"b", "5"}}}, written, parameters).dump(), written);
}

TEST(ToolArgumentsTest, NoArgumentsAreWrittenInManyWays) {
  for (const Json& none :
       {Json(), Json(""), Json(" \n"), Json("null"), Json("{}"), Json::object()}) {
    ASSERT_TRUE(read_arguments(none)) << none;
    EXPECT_EQ(*read_arguments(none), Json::object()) << none;
  }
  EXPECT_EQ(*read_arguments(R"({"a": 1})"), (Json{{"a", 1}}));
  for (const Json& wrong : {Json("x"), Json(5), Json("[]"), Json::array()}) {
    EXPECT_FALSE(read_arguments(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "synthesis/python_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::synthesis {
namespace {

using testing::HasSubstr;

TEST(PythonText, FindsDefinitionsAtTheTopLevelOnly) {
  const std::string text =
      "class Model(nn.Module):\n  def inner(self): pass\ndef  get_inputs():\r\n";
  EXPECT_TRUE(has_definition(text, {"class", "Model"}));
  EXPECT_TRUE(has_definition(text, {"def", "get_inputs"}));
  EXPECT_FALSE(has_definition(text, {"def", "inner"}));
  EXPECT_FALSE(has_definition(text, {"def", "get_input"}));
  EXPECT_FALSE(has_definition("classModel:", {"class", "Model"}));
  EXPECT_FALSE(has_definition("", {"class", "Model"}));
}

TEST(PythonText, ListsAFewDefinitionsForAMessage) {
  EXPECT_EQ(definitions_in("x = 1\n"), "nothing");
  EXPECT_EQ(definitions_in("class A: pass\ndef b(): pass\n  def c(): pass"), "class A, def b");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "def f" + std::to_string(i) + "(): pass\n";
  EXPECT_THAT(definitions_in(many), HasSubstr("def f11, …"));
}

TEST(PythonText, WritesValuesAsPythonDoes) {
  const auto value =
      read_json(R"({"a": [null, true, false, 3, -2.5, 1e-6], "b": {"t": "q'\"\\\n\u0001ä"}})");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(python_literal(*value),
            "{\"a\": [None, True, False, 3, -2.5, 1e-06], "
            "\"b\": {\"t\": \"q'\\\"\\\\\\n\\u0001ä\"}}");
  EXPECT_EQ(python_quoted(R"({"a": 1})"), R"('{"a": 1}')");
  EXPECT_EQ(python_quoted("it's"), R"("it's")");
}

TEST(PythonText, KeepsTheOrderOfMembers) {
  EXPECT_EQ(python_literal(*read_json(R"({"b": 1, "a": 2})")), R"({"b": 1, "a": 2})");
}

TEST(PythonText, NamesArePythonS) {
  for (const char* good : {"x", "_x1", "Weight"}) EXPECT_TRUE(is_python_name(good)) << good;
  for (const char* bad : {"", "1x", "x-y", "lambda", "x y", "ä"}) {
    EXPECT_FALSE(is_python_name(bad)) << bad;
  }
}

TEST(PythonText, InvalidDeepAndWideJsonIsRefused) {
  EXPECT_EQ(read_json("{").error().code, ErrorCode::parse_failed);
  EXPECT_EQ(read_json("{\"a\": \"\xff\"}").error().code, ErrorCode::parse_failed);
  EXPECT_EQ(read_json("1e999").error().code, ErrorCode::parse_failed);
  EXPECT_EQ(read_json("NaN").error().code, ErrorCode::parse_failed);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(read_json(deep).error().message, HasSubstr("too deeply"));
  std::string wide = "{";
  for (int k = 0; k < 200'000; ++k) wide += '"' + std::to_string(k) + "\": 0, ";
  EXPECT_THAT(read_json(wide + "\"x\": 0}").error().message, HasSubstr("10,000 members"));
}

TEST(PythonText, AMemberOfAnotherTypeIsNamed) {
  const OrderedJson object = *read_json(R"({"name": 3})");
  EXPECT_EQ(member(object, "name", JsonType::string).error().message,
            "name: expected a text, got 3");
  EXPECT_EQ(member(object, "axes", JsonType::object).error().message,
            "axes: expected an object, got no such member");
  EXPECT_EQ(member(OrderedJson(7), "axes", JsonType::object).error().message,
            "expected an object with axes, got 7");
}

}  // namespace
}  // namespace warpsmith::synthesis

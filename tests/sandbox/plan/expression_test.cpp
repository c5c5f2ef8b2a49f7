// SPDX-License-Identifier: Apache-2.0
// Expressions of launch plans: values, precedence, places of errors, damaged texts.
#include "sandbox/plan/expression.hpp"

#include <gtest/gtest.h>

#include "tests/support/mutate.hpp"

namespace warpsmith::sandbox {
namespace {

const Expression::Symbols dims{{"d0", 1000}, {"d1", 37}, {"zero", 0}};

int64_t value(const std::string& text) {
  const auto parsed = Expression::parse(text);
  if (!parsed) throw std::runtime_error(text + ": " + parsed.error().message);
  const auto result = parsed->evaluate(dims);
  if (!result) throw std::runtime_error(text + ": " + result.error().message);
  return *result;
}

/// "offset: message" of a text that does not parse or has no value.
std::string complaint(const std::string& text) {
  const auto parsed = Expression::parse(text);
  const auto result = parsed ? parsed->evaluate(dims) : tl::unexpected(parsed.error());
  if (result) return "value " + std::to_string(*result);
  return std::to_string(result.error().offset) + ": " + result.error().message;
}

TEST(ExpressionTest, HasTheSameValueAsInC) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 3 % 5"), 1 + 2 * 3 - 4 / 3 % 5);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("(1+2)*3"), 9);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
  EXPECT_EQ(value("2 - -3"), 5);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("1 < 2 == 1"), 1);
  EXPECT_EQ(value("3 >= 4 || 2 > 1 && 0"), 0);
  EXPECT_EQ(value("!0 + !5"), 1);
  EXPECT_EQ(value("!zero && d0 != d1"), 1);
  EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
}

TEST(ExpressionTest, EvaluatesSymbolsAndFunctions) {
  EXPECT_EQ(value("ceildiv(d0, 256)"), 4);
  EXPECT_EQ(value("ceildiv(1024,256)"), 4);
  EXPECT_EQ(value("ceildiv(-5, 2)"), -2);
  EXPECT_EQ(value("ceildiv(-5, -2)"), 3);
  EXPECT_EQ(value("min(d0, d1, 5)"), 5);
  EXPECT_EQ(value("max(d1 , min (d0, 2))"), 37);
  EXPECT_EQ(value("d1 % 4 == 0"), 0);
}

TEST(ExpressionTest, ErrorsNameThePlace) {
  EXPECT_EQ(complaint("1 + d9"), "4: unknown symbol \"d9\"; known: d0 d1 zero");
  EXPECT_EQ(complaint("d0 / zero"), "3: division by zero");
  EXPECT_EQ(complaint("d0 % (d1 - 37)"), "3: division by zero");
  EXPECT_EQ(complaint("ceildiv(1, zero)"), "0: division by zero");
  EXPECT_EQ(complaint("9223372036854775807 + 1"), "20: the value does not fit 64 bits");
  EXPECT_EQ(complaint("(0 - 9223372036854775807 - 1) / -1"), "30: the value does not fit 64 bits");
  EXPECT_EQ(complaint("9223372036854775808"), "0: the number does not fit 64 bits");
  EXPECT_EQ(complaint(""), "0: expected a number, a symbol or \"(\", got the end");
  EXPECT_EQ(complaint("1 +"), "3: expected a number, a symbol or \"(\", got the end");
  EXPECT_EQ(complaint("1 2"), "2: expected an operator");
  EXPECT_EQ(complaint("d0 = 3"), "3: expected an operator");
  EXPECT_EQ(complaint("(1"), "2: expected \")\"");
  EXPECT_EQ(complaint("0x10"), "0: expected a decimal number");
  EXPECT_EQ(complaint("1.5"), "1: expected an operator");
  EXPECT_EQ(complaint("sqrt(4)"), "0: unknown function \"sqrt\": ceildiv, min, max");
  EXPECT_EQ(complaint("min(4)"), "0: min takes two arguments or more, got 1");
  EXPECT_EQ(complaint("ceildiv(1,2,3)"), "0: ceildiv takes two arguments, got 3");
  EXPECT_EQ(complaint(std::string(600, '1')), "0: longer than 512 bytes");
  EXPECT_EQ(complaint(std::string(100, '(')), "33: nested too deeply");
  EXPECT_EQ(complaint(std::string(100, '-')), "33: nested too deeply");
}

/// "value N", "depends" or "offset: message".
std::string fixed(const std::string& text) {
  const auto value = Expression::parse(text)->fixed_value(dims);
  if (!value) return std::to_string(value.error().offset) + ": " + value.error().message;
  return *value ? "value " + std::to_string(**value) : "depends";
}

TEST(ExpressionTest, FindsValuesThatNoSymbolChanges) {
  EXPECT_EQ(fixed("ceildiv(7, 2) * 4"), "value 16");
  EXPECT_EQ(fixed("d0 * 0"), "depends");
  EXPECT_EQ(fixed("d0 / zero"), "depends");
  EXPECT_EQ(fixed("d0 / (4 - 4)"), "3: division by zero");
  EXPECT_EQ(fixed("ceildiv(d0, 0)"), "0: division by zero");
  EXPECT_EQ(fixed("d0 / zero + d9"), "12: unknown symbol \"d9\"; known: d0 d1 zero");
  EXPECT_EQ(fixed("d0 + 9223372036854775807 * 2"), "25: the value does not fit 64 bits");
}

TEST(ExpressionTest, DamagedTextsGiveAPlaceOrAValue) {
  const std::string good = "ceildiv(d0 * d1, 256) + max(1, d1 % 4 == 0 && d0 >= 64) - (-3)";
  RandomStream random(5, "expression");
  int readable = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = test::mutate(good, random);
    const auto parsed = Expression::parse(text);
    const auto result = parsed ? parsed->evaluate(dims) : tl::unexpected(parsed.error());
    EXPECT_TRUE(!result || parsed->fixed_value(dims).has_value()) << text;
    if (result)
      ++readable;
    else
      ASSERT_LE(result.error().offset, text.size()) << text;
  }
  EXPECT_GT(readable, 100);
}

}  // namespace
}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Whole-number expressions over a task's extents, as launch plans write them.
//
//   ceildiv(d0 * d1, 256)      d1 % 4 == 0 && d0 >= 64      max(1, d0 / 8)
//
// Operators as in C, by falling precedence: ! and - before one operand; * / %; + -;
// < <= > >=; == !=; &&; ||. Comparisons give 1 or 0. Functions: ceildiv(a, b), min and max of two
// or more. Values are 64 bits wide; what does not fit, and a division by zero, is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// What is wrong with a text, and where: `offset` counts bytes from its start.
struct TextError {
  size_t offset = 0;
  std::string message;
};

template <class T>
using Parsed = tl::expected<T, TextError>;

inline constexpr size_t expression_bytes = 512;  // longest text
inline constexpr int expression_depth = 32;      // of parentheses, functions and signs

class Expression {
 public:
  using Symbols = std::map<std::string, int64_t, std::less<>>;

  static Parsed<Expression> parse(std::string_view text);
  static Expression constant(int64_t value);
  Expression() : Expression(constant(0)) {}

  /// The value, or where it cannot be had and why: a symbol that is not there, a division by zero,
  /// a result beyond 64 bits.
  Parsed<int64_t> evaluate(const Symbols& symbols) const;
  /// The value that it has whatever the symbols are, nothing where they decide, or why no symbols
  /// give it one: a name that is not among these, a division by zero.
  Parsed<std::optional<int64_t>> fixed_value(const Symbols& names) const;
  bool has_symbols() const;
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  enum class Op : uint8_t {
    constant,
    symbol,
    multiply,
    divide,
    remainder,
    add,
    subtract,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    both,
    either,
    ceildiv,
    min,
    max,
  };
  /// One step of the postfix form. -a is 0 - a, !a is a == 0.
  struct Step {
    Op op = Op::constant;
    int64_t value = 0;    // of a constant
    std::string symbol;   // of a symbol
    uint32_t offset = 0;  // in the text
  };
  using Value = std::optional<int64_t>;  // nothing: a symbol decides

  explicit Expression(std::string text) : text_(std::move(text)) {}
  static int64_t decide(Op op, int64_t left, int64_t right);
  static bool apply(Op op, int64_t left, int64_t right, int64_t& out);
  static bool apply(Op op, Value left, Value right, Value& out);
  /// `read` gives the value of a symbol that is there.
  template <class Read>
  Parsed<Value> run(const Symbols& symbols, Read read) const;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace warpsmith::sandbox

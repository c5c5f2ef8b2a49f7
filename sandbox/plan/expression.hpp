// SPDX-License-Identifier: Apache-2.0
// Integer expressions over a task's extents, as launch plans write them.
//
//   ceildiv(d0 * d1, 256)      d1 % 4 == 0 && d0 >= 64      max(1, d0 / 8)
//
// Operators as in C, by falling precedence: ! and - before one operand; * / %; + -; < <= > >=; ==
// !=; &&; ||. Comparisons return 1 or 0. Functions: ceildiv(a, b), and min and max of two or more
// arguments. Values have 64 bits; overflow and division by zero are errors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// An error in a text. `offset` counts bytes from the start.
struct TextError {
  size_t offset = 0;
  std::string message;
};

template <class T>
using Parsed = tl::expected<T, TextError>;

inline constexpr size_t expression_bytes = 512;  // limit of the text's length
inline constexpr int expression_depth = 32;      // limit of nested parentheses, functions and signs

class Expression {
 public:
  using Symbols = std::map<std::string, int64_t, std::less<>>;

  static Parsed<Expression> parse(std::string_view text);
  static Expression constant(int64_t value);
  Expression() : Expression(constant(0)) {}

  /// The value, or the place and reason of an error: an unknown symbol, a division by zero, a
  /// result beyond 64 bits.
  Parsed<int64_t> evaluate(const Symbols& symbols) const;
  /// The value if it is the same for all values of the symbols; empty if it depends on them. An
  /// error is one that no values could fix: a name missing from `names`, a division by zero.
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
    int64_t value = 0;    // only for a constant
    std::string symbol;   // only for a symbol
    uint32_t offset = 0;  // bytes from the start of the text
  };
  using Value = std::optional<int64_t>;  // empty: depends on a symbol

  explicit Expression(std::string text) : text_(std::move(text)) {}
  static int64_t decide(Op op, int64_t left, int64_t right);
  static bool apply(Op op, int64_t left, int64_t right, int64_t& out);
  static bool apply(Op op, Value left, Value right, Value& out);
  /// `read` returns the value of an existing symbol.
  template <class Read>
  Parsed<Value> run(const Symbols& symbols, Read read) const;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace warpsmith::sandbox

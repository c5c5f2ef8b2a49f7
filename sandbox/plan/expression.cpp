// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

namespace warpsmith::sandbox {
namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

/// Division as in C, towards zero. Returns false where C leaves the result undefined.
bool divide(int64_t left, int64_t right, int64_t& out) {
  if (right == 0 || (left == lowest && right == -1)) return false;
  out = left / right;
  return true;
}

bool remainder(int64_t left, int64_t right, int64_t& out) {
  if (right == 0) return false;
  out = right == -1 ? 0 : left % right;
  return true;
}

/// The quotient rounded up.
bool ceildiv(int64_t left, int64_t right, int64_t& out) {
  if (!divide(left, right, out)) return false;
  const bool rounded_down = left % right != 0 && (left < 0) == (right < 0);
  out += rounded_down ? 1 : 0;
  return true;
}

std::string known_names(const Expression::Symbols& symbols) {
  if (symbols.empty()) return "there are none";
  std::string names = "known:";
  for (const auto& [name, value] : symbols) names += " " + name;
  return names;
}

}  // namespace

Expression Expression::constant(int64_t value) {
  Expression made{std::to_string(value)};
  made.steps_.push_back({Op::constant, value, {}, 0});
  return made;
}

int64_t Expression::decide(Op op, int64_t left, int64_t right) {
  switch (op) {
    case Op::less:
      return left < right ? 1 : 0;
    case Op::less_equal:
      return left <= right ? 1 : 0;
    case Op::greater:
      return left > right ? 1 : 0;
    case Op::greater_equal:
      return left >= right ? 1 : 0;
    case Op::equal:
      return left == right ? 1 : 0;
    case Op::unequal:
      return left != right ? 1 : 0;
    case Op::both:
      return left != 0 && right != 0 ? 1 : 0;
    case Op::either:
      return left != 0 || right != 0 ? 1 : 0;
    case Op::min:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

bool Expression::apply(Op op, int64_t left, int64_t right, int64_t& out) {
  switch (op) {
    case Op::add:
      return !__builtin_add_overflow(left, right, &out);
    case Op::subtract:
      return !__builtin_sub_overflow(left, right, &out);
    case Op::multiply:
      return !__builtin_mul_overflow(left, right, &out);
    case Op::divide:
      return divide(left, right, out);
    case Op::remainder:
      return remainder(left, right, out);
    case Op::ceildiv:
      return ceildiv(left, right, out);
    default:
      out = decide(op, left, right);
      return true;
  }
}

bool Expression::apply(Op op, Value left, Value right, Value& out) {
  if (left && right) return apply(op, *left, *right, out.emplace());
  out.reset();
  const bool divides = op == Op::divide || op == Op::remainder || op == Op::ceildiv;
  return !divides || right != 0;
}

template <class Read>
Parsed<Expression::Value> Expression::run(const Symbols& symbols, Read read) const {
  std::vector<Value> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::constant) {
      stack.emplace_back(step.value);
      continue;
    }
    if (step.op == Op::symbol) {
      const auto known = symbols.find(step.symbol);
      if (known == symbols.end()) {
        return tl::unexpected(TextError{
            step.offset, "unknown symbol \"" + step.symbol + "\"; " + known_names(symbols)});
      }
      stack.push_back(read(known->second));
      continue;
    }
    const Value right = stack.back();
    stack.pop_back();
    const Value left = stack.back();
    if (!apply(step.op, left, right, stack.back())) {
      const bool zero = right == 0;
      return tl::unexpected(
          TextError{step.offset, zero ? "division by zero" : "the value does not fit 64 bits"});
    }
  }
  return stack.back();
}

Parsed<int64_t> Expression::evaluate(const Symbols& symbols) const {
  return run(symbols, [](int64_t value) { return Value{value}; }).map([](Value value) {
    return *value;
  });
}

Parsed<std::optional<int64_t>> Expression::fixed_value(const Symbols& names) const {
  return run(names, [](int64_t) { return Value{}; });
}

bool Expression::has_symbols() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.op == Op::symbol; });
}

/// Parses text to the postfix form of expressions, by precedence climbing.
class ExpressionParser {
 public:
  using Op = Expression::Op;

  explicit ExpressionParser(std::string_view text) : text_(text), made_(std::string(text)) {}

  Parsed<Expression> parse() {
    if (text_.size() > expression_bytes) {
      return tl::unexpected(TextError{0, fmt::format("longer than {} bytes", expression_bytes)});
    }
    if (binary(0) && !at_end()) wrong("expected an operator");
    if (error_) return tl::unexpected(std::move(*error_));
    return std::move(made_);
  }

 private:
  struct Operator {
    std::string_view sign;
    Op op;
    int level;
  };
  // An operator comes before any that is its prefix.
  static constexpr std::array<Operator, 13> operators{{{"||", Op::either, 0},
                                                       {"&&", Op::both, 1},
                                                       {"==", Op::equal, 2},
                                                       {"!=", Op::unequal, 2},
                                                       {"<=", Op::less_equal, 3},
                                                       {">=", Op::greater_equal, 3},
                                                       {"<", Op::less, 3},
                                                       {">", Op::greater, 3},
                                                       {"+", Op::add, 4},
                                                       {"-", Op::subtract, 4},
                                                       {"*", Op::multiply, 5},
                                                       {"/", Op::divide, 5},
                                                       {"%", Op::remainder, 5}}};

  const Operator* operator_here(int least) {
    skip_blanks();
    for (const Operator& one : operators) {
      if (text_.substr(at_).starts_with(one.sign)) return one.level >= least ? &one : nullptr;
    }
    return nullptr;
  }

  bool binary(int least) {
    if (!unary()) return false;
    while (const Operator* found = operator_here(least)) {
      const size_t offset = at_;
      at_ += found->sign.size();
      if (!binary(found->level + 1)) return false;
      emit(found->op, offset);
    }
    return true;
  }

  bool unary() {
    skip_blanks();
    const size_t offset = at_;
    if (take('-')) return sign(Op::subtract, offset);
    if (take('!')) return sign(Op::equal, offset);
    return primary();
  }

  /// Emits 0 - a, or a == 0; the order of operands does not matter for equality.
  bool sign(Op op, size_t offset) {
    emit(Op::constant, offset);
    if (!deeper([this] { return unary(); })) return false;
    emit(op, offset);
    return true;
  }

  bool primary() {
    if (at_end()) return wrong("expected a number, a symbol or \"(\", got the end");
    const auto next = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(next) != 0) return number();
    if (std::isalpha(next) != 0 || next == '_') return name();
    if (take('(')) return deeper([this] { return binary(0); }) && close();
    return wrong("expected a number, a symbol or \"(\"");
  }

  bool number() {
    int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [end, code] = std::from_chars(first, text_.data() + text_.size(), value);
    if (code != std::errc{}) return wrong("the number does not fit 64 bits");
    const auto length = static_cast<size_t>(end - first);
    if (at_ + length < text_.size() && is_word(text_[at_ + length])) {
      return wrong("expected a decimal number");
    }
    made_.steps_.push_back({Op::constant, value, {}, static_cast<uint32_t>(at_)});
    at_ += length;
    return true;
  }

  bool name() {
    const size_t offset = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string word{text_.substr(offset, at_ - offset)};
    skip_blanks();
    if (take('(')) return call(word, offset);
    made_.steps_.push_back({Op::symbol, 0, word, static_cast<uint32_t>(offset)});
    return true;
  }

  bool call(const std::string& function, size_t offset) {
    const auto op = function == "ceildiv" ? std::optional(Op::ceildiv)
                    : function == "min"   ? std::optional(Op::min)
                    : function == "max"   ? std::optional(Op::max)
                                          : std::nullopt;
    if (!op) return wrong_at(offset, "unknown function \"" + function + "\": ceildiv, min, max");
    int arguments = 0;
    do {
      if (!deeper([this] { return binary(0); })) return false;
      if (++arguments > 1) emit(*op, offset);
      skip_blanks();
    } while (take(','));
    if (arguments < 2 || (*op == Op::ceildiv && arguments > 2)) {
      return wrong_at(offset, fmt::format("{} takes two arguments{}, got {}", function,
                                          *op == Op::ceildiv ? "" : " or more", arguments));
    }
    return close();
  }

  template <class Inner>
  bool deeper(Inner inner) {
    if (++depth_ > expression_depth) return wrong("nested too deeply");
    const bool good = inner();
    --depth_;
    return good;
  }

  bool close() {
    skip_blanks();
    return take(')') || wrong("expected \")\"");
  }

  void emit(Op op, size_t offset) {
    made_.steps_.push_back({op, 0, {}, static_cast<uint32_t>(offset)});
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  static bool is_word(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  }
  bool wrong(std::string message) { return wrong_at(at_, std::move(message)); }
  bool wrong_at(size_t offset, std::string message) {
    if (!error_) error_ = TextError{offset, std::move(message)};
    return false;
  }

  std::string_view text_;
  Expression made_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<TextError> error_;
};

Parsed<Expression> Expression::parse(std::string_view text) {
  return ExpressionParser{text}.parse();
}

}  // namespace warpsmith::sandbox

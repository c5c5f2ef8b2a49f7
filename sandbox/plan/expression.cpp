// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/expression.hpp"

#include <algorithm>
#include <limits>

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

}  // namespace warpsmith::sandbox

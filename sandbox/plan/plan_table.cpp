// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/message_text.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

std::string kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

/// Formats a number like TOML: 2.0 rather than 2.
std::string real_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string text(digits.data(), end);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

/// The value of a number, or the kind of any other node.
std::string value_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return real_text(real->get());
  return kind_of(node);
}

/// Whether the text is exactly what is written between two quotes on one line, so that columns
/// within it are known. Columns count characters.
bool is_plain(const toml::source_region& where, std::string_view text) {
  const auto begins = [](unsigned char byte) { return (byte & 0xC0U) != 0x80U; };
  const auto characters = static_cast<size_t>(std::ranges::count_if(text, begins));
  return where.begin.line == where.end.line &&
         where.end.column - where.begin.column == characters + 2;
}

bool has_control(std::string_view name) {
  return std::ranges::any_of(name, [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; });
}

}  // namespace

PlanPlace place_of(const toml::source_region& region) {
  return {static_cast<uint32_t>(region.begin.line), static_cast<uint32_t>(region.begin.column)};
}

PlanPlace place_of(const toml::node& node) {
  return place_of(node.source());
}

const toml::node* PlanTable::find(std::string_view key, bool required) {
  allowed_.emplace(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr && required) {
    errors_.at(place(), what_ + " lacks \"" + std::string(key) + "\"");
  }
  return node;
}

void PlanTable::expected(const toml::node& node, std::string_view key, const std::string& what) {
  errors_.at(place_of(node), std::string(key) + ": expected " + what + ", got " + kind_of(node));
}

void PlanTable::unfit(const toml::node& node, std::string_view key, const std::string& what) {
  errors_.at(place_of(node), std::string(key) + ": expected " + what + ", got " + value_of(node));
}

PlacedExpression PlanTable::expression_of(const toml::node& node) {
  if (const auto whole = node.value_exact<int64_t>()) {
    return {Expression::constant(*whole), place_of(node)};
  }
  const auto text = node.value_exact<std::string_view>();
  if (!text) {
    errors_.at(place_of(node),
               "expected a whole number or an expression in quotes, got " + kind_of(node));
    return {Expression::constant(0), place_of(node)};
  }
  PlanPlace place = place_of(node);
  if (!is_plain(node.source(), *text)) {
    errors_.at(place, "an expression stands in one pair of quotes on one line, without escapes");
    return {Expression::constant(0), place};
  }
  ++place.column;  // skip the quote
  PlacedExpression placed{Expression::constant(0), place};
  auto parsed = Expression::parse(*text);
  if (parsed)
    placed.expression = std::move(*parsed);
  else
    errors_.in(placed, parsed.error());
  return placed;
}

std::string PlanTable::bounded(std::string name, std::string_view key, PlanPlace place) {
  if (has_control(name)) {
    errors_.at(place, std::string(key) + ": expected a name without control characters, got \"" +
                          name.substr(0, plan_name_bytes) + "\"");
    return {};
  }
  if (name.size() <= plan_name_bytes) return name;
  errors_.at(place, fmt::format("{}: expected a name of at most {} bytes, got {}", key,
                                plan_name_bytes, name.size()));
  return {};
}

std::optional<BufferName> PlanTable::maybe_name(std::string_view key) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return std::nullopt;
  const auto text = node->value_exact<std::string>();
  if (!text) expected(*node, key, "a name in quotes");
  return BufferName{bounded(text.value_or(""), key, place_of(*node)), place_of(*node)};
}

BufferName PlanTable::name(std::string_view key) {
  if (find(key, true) == nullptr) return {{}, place()};
  return *maybe_name(key);
}

std::optional<PlacedExpression> PlanTable::maybe_expression(std::string_view key) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return std::nullopt;
  return expression_of(*node);
}

PlacedExpression PlanTable::expression(std::string_view key) {
  (void)find(key, true);
  return expression(key, 0);
}

PlacedExpression PlanTable::expression(std::string_view key, int64_t otherwise) {
  return maybe_expression(key).value_or(PlacedExpression{Expression::constant(otherwise), place()});
}

void PlanTable::each(std::string_view key, ListLength length,
                     const std::function<void(const toml::node&)>& visit) {
  const toml::node* node = find(key, length.least > 0);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) return expected(*node, key, "a list");
  if (list->size() < length.least || list->size() > length.most) {
    errors_.at(place_of(*node), fmt::format("{}: expected {} to {} items, got {}", key,
                                            length.least, length.most, list->size()));
    return;
  }
  for (const toml::node& item : *list) visit(item);
}

void PlanTable::each_table(std::string_view key, ListLength length,
                           const std::function<void(const toml::table&)>& visit) {
  each(key, length, [&](const toml::node& item) {
    const toml::table* inner = item.as_table();
    if (inner == nullptr) return expected(item, key, "a table");
    visit(*inner);
  });
}

std::vector<PlacedExpression> PlanTable::expressions(std::string_view key, ListLength length) {
  std::vector<PlacedExpression> all;
  each(key, length, [&](const toml::node& item) { all.push_back(expression_of(item)); });
  return all;
}

bool PlanTable::flag(std::string_view key) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return false;
  const auto value = node->value_exact<bool>();
  if (!value) expected(*node, key, "true or false");
  return value.value_or(false);
}

double PlanTable::real(std::string_view key, double otherwise) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return otherwise;
  const auto value = node->value<double>();
  if (node->is_number() && value && std::isfinite(*value)) return *value;
  unfit(*node, key, "a finite number");
  return otherwise;
}

double PlanTable::single(std::string_view key, double otherwise) {
  const double value = real(key, otherwise);
  if (std::abs(value) <= double{std::numeric_limits<float>::max()}) return value;
  unfit(*table_.get(key), key, "a number within a float's range");
  return otherwise;
}

int64_t PlanTable::integer(std::string_view key, std::pair<int64_t, int64_t> range,
                           int64_t otherwise) {
  const toml::node* node = find(key, false);
  if (node == nullptr) return otherwise;
  const auto value = node->value_exact<int64_t>();
  if (value && *value >= range.first && *value <= range.second) return *value;
  unfit(*node, key, fmt::format("a whole number from {} to {}", range.first, range.second));
  return otherwise;
}

void PlanTable::finish() {
  for (auto&& [key, node] : table_) {
    const std::string name{key.str()};
    if (allowed_.contains(name)) continue;
    errors_.at(place_of(key.source()), what_ + " has no \"" + name + "\"; the nearest is \"" +
                                           nearest_name(name, allowed_) + "\"");
  }
}

}  // namespace warpsmith::sandbox

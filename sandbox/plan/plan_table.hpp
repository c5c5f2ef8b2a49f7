// SPDX-License-Identifier: Apache-2.0
// Reads one table of plan.toml key by key. Errors are collected with their places, and reading
// continues.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/toml_library.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {

PlanPlace place_of(const toml::source_region& region);
PlanPlace place_of(const toml::node& node);

/// How many items a list may have.
struct ListLength {
  size_t least = 1, most = 1;
};

class PlanTable {
 public:
  /// `what` describes the table in messages, e.g. "a launch step".
  PlanTable(const toml::table& table, std::string what, PlanErrors& errors)
      : table_(table), what_(std::move(what)), errors_(errors) {}

  PlanPlace place() const { return place_of(table_); }
  /// The place of a key's value; the table's if the key is missing.
  PlanPlace place_at(std::string_view key) const {
    const toml::node* value = table_.get(key);
    return value == nullptr ? place() : place_of(*value);
  }
  bool has(std::string_view key) const { return table_.contains(key); }

  /// The key is required.
  BufferName name(std::string_view key);
  PlacedExpression expression(std::string_view key);

  /// Empty, or the default, if the key is absent.
  std::optional<BufferName> maybe_name(std::string_view key);
  std::optional<PlacedExpression> maybe_expression(std::string_view key);
  PlacedExpression expression(std::string_view key, int64_t otherwise);
  /// The key is required if `length.least` > 0.
  std::vector<PlacedExpression> expressions(std::string_view key, ListLength length);
  bool flag(std::string_view key);
  double real(std::string_view key, double otherwise);
  /// A number within a float's range; it may be rounded.
  double single(std::string_view key, double otherwise);
  int64_t integer(std::string_view key, std::pair<int64_t, int64_t> range, int64_t otherwise);
  template <class E, size_t n>
  E choice(std::string_view key, const std::array<std::pair<std::string_view, E>, n>& names,
           E otherwise) {
    const std::optional<BufferName> chosen = maybe_name(key);
    if (!chosen) return otherwise;
    std::string known;
    for (const auto& [name, value] : names) {
      if (chosen->name == name) return value;
      known += (known.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    errors_.at(chosen->place,
               std::string(key) + ": expected " + known + ", got \"" + chosen->name + "\"");
    return otherwise;
  }

  /// Visits every item of a list.
  void each(std::string_view key, ListLength length,
            const std::function<void(const toml::node&)>& visit);
  /// Visits every table of a list of tables.
  void each_table(std::string_view key, ListLength length,
                  const std::function<void(const toml::table&)>& visit);
  /// A number or an expression in quotes. Reports an error and returns 0 for anything else.
  PlacedExpression expression_of(const toml::node& node);

  /// Returns `name`, or reports an error and returns "" if it is longer than `plan_name_bytes` or
  /// has control characters.
  std::string bounded(std::string name, std::string_view key, PlanPlace place);

  /// Accepts a key that is read elsewhere.
  void allow(std::string_view key) { allowed_.emplace(key); }
  /// Reports the keys that were neither read nor allowed, each with the nearest one that was.
  void finish();

 private:
  const toml::node* find(std::string_view key, bool required);
  /// Reports a node of the wrong kind.
  void expected(const toml::node& node, std::string_view key, const std::string& what);
  /// Reports a value out of range.
  void unfit(const toml::node& node, std::string_view key, const std::string& what);

  const toml::table& table_;
  std::string what_;
  PlanErrors& errors_;
  std::set<std::string> allowed_;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// One table of plan.toml, read key by key: what is wrong goes to the errors with its place, and
// reading goes on.
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
  /// `what` names the table in messages, e.g. "a launch step".
  PlanTable(const toml::table& table, std::string what, PlanErrors& errors)
      : table_(table), what_(std::move(what)), errors_(errors) {}

  PlanPlace place() const { return place_of(table_); }
  bool has(std::string_view key) const { return table_.contains(key); }

  /// Required.
  BufferName name(std::string_view key);
  PlacedExpression expression(std::string_view key);

  /// Empty, or the default, where the key is absent.
  std::optional<BufferName> maybe_name(std::string_view key);
  std::optional<PlacedExpression> maybe_expression(std::string_view key);
  PlacedExpression expression(std::string_view key, int64_t otherwise);
  /// Required if `length.least` > 0.
  std::vector<PlacedExpression> expressions(std::string_view key, ListLength length);
  bool flag(std::string_view key);
  double real(std::string_view key, double otherwise);
  /// A number that a float holds, if not exactly.
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

  /// Every item of a list, as it stands.
  void each(std::string_view key, ListLength length,
            const std::function<void(const toml::node&)>& visit);
  /// Every table of a list of tables.
  void each_table(std::string_view key, ListLength length,
                  const std::function<void(const toml::table&)>& visit);
  /// A number or an expression in quotes. Complains and gives 0 for anything else.
  PlacedExpression expression_of(const toml::node& node);

  /// The name, or nothing and a complaint if it is longer than `plan_name_bytes` or could break
  /// a line.
  std::string bounded(std::string name, std::string_view key, PlanPlace place);

  /// `key` is known, and read elsewhere.
  void ask(std::string_view key) { asked_.emplace(key); }
  /// Complains about the keys that nobody asked for, with the nearest that was.
  void finish();

 private:
  const toml::node* find(std::string_view key, bool required);
  /// Of another kind.
  void expected(const toml::node& node, std::string_view key, const std::string& what);
  /// Beyond what it may be.
  void unfit(const toml::node& node, std::string_view key, const std::string& what);

  const toml::table& table_;
  std::string what_;
  PlanErrors& errors_;
  std::set<std::string> asked_;
};

}  // namespace warpsmith::sandbox

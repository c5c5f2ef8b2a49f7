// SPDX-License-Identifier: Apache-2.0
// The columns of a described record in the run database: names, types and values in the order of
// its fields, so that no statement can miss one.
#pragma once

#include <fmt/format.h>

#include "runtime/run/sqlite.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith {

/// How a field is stored. A verdict class is stored by name, and none as `no_submission`.
struct Column {
  static const char* type(const double&) { return "REAL"; }
  static const char* type(const std::optional<double>&) { return "REAL"; }
  static const char* type(const std::string&) { return "TEXT"; }
  static const char* type(const std::optional<VerdictClass>&) { return "TEXT"; }
  static const char* type(const std::unsigned_integral auto&) { return "INTEGER"; }

  static SqlValue write(double value) { return value; }
  static SqlValue write(const std::string& value) { return value; }
  static SqlValue write(std::unsigned_integral auto value) { return sql_number(value); }
  static SqlValue write(const std::optional<double>& value) { return sql_value(value); }
  static SqlValue write(const std::optional<VerdictClass>& value) {
    return std::string{value ? to_string(*value) : no_submission};
  }

  static bool read(const SqlRow& row, int at, double& value) {
    value = row.real(at);
    return true;
  }
  static bool read(const SqlRow& row, int at, std::string& value) {
    value = row.text(at);
    return true;
  }
  template <std::unsigned_integral T>
  static bool read(const SqlRow& row, int at, T& value) {
    value = static_cast<T>(row.integer(at));
    return true;
  }
  static bool read(const SqlRow& row, int at, std::optional<double>& value) {
    value = row.maybe_real(at);
    return true;
  }
  static bool read(const SqlRow& row, int at, std::optional<VerdictClass>& value) {
    const std::string name = row.text(at);
    value = enum_of<VerdictClass>(name);
    return value || name == no_submission;
  }
};

/// One text for each field, e.g. "reward REAL", with ", " between them.
template <Described Record>
std::string columns_of(auto&& text) {
  std::string all;
  Record record;
  Record::describe(
      [&](std::string_view name, const auto& field) {
        all += (all.empty() ? "" : ", ") + text(name, Column::type(field));
      },
      record);
  return all;
}

template <Described Record>
std::string column_names() {
  return columns_of<Record>([](std::string_view name, const char*) { return std::string{name}; });
}

template <Described Record>
std::string column_definitions() {
  return columns_of<Record>(
      [](std::string_view name, const char* type) { return fmt::format("{} {}", name, type); });
}

template <Described Record>
std::string column_assignments() {
  return columns_of<Record>(
      [](std::string_view name, const char*) { return fmt::format("{} = ?", name); });
}

template <Described Record>
std::vector<SqlValue> column_values(const Record& record) {
  std::vector<SqlValue> values;
  Record::describe(
      [&](std::string_view, const auto& field) { values.push_back(Column::write(field)); }, record);
  return values;
}

/// Reads the record from the columns that begin at `first`.
template <Described Record>
Result<Record> record_of(const SqlRow& row, int first) {
  Record record;
  std::string unknown;
  Record::describe(
      [&](std::string_view name, auto& field) {
        const int at = first++;
        if (!Column::read(row, at, field)) {
          unknown = fmt::format("run.db: {} has the unknown value '{}'", name, row.text(at));
        }
      },
      record);
  if (unknown.empty()) return record;
  return fail(ErrorCode::corrupt, std::move(unknown));
}

}  // namespace warpsmith

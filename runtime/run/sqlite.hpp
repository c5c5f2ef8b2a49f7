// SPDX-License-Identifier: Apache-2.0
// A small wrapper around SQLite: values in, rows out, failures as Result.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace warpsmith {

/// A value of a column or parameter; monostate is NULL.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, ByteBuffer>;
/// SQLite has only signed integers.
inline int64_t sql_number(uint64_t value) {
  return static_cast<int64_t>(value);
}

template <class T>
SqlValue sql_value(const std::optional<T>& value) {
  return value ? SqlValue{*value} : SqlValue{};
}

/// The current row of a query. Columns count from 0; valid only inside the callback.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  ByteBuffer blob(int column) const;
  std::optional<double> maybe_real(int column) const;

 private:
  sqlite3_stmt* statement_;
};

enum class SqlAccess : uint8_t { read_write, read_only };

/// One connection with its prepared statements. Not thread-safe.
/// Errors: `disk_full`, `locked` (busy for the whole time-out), `corrupt`, `not_found`,
/// `io_failed`.
class SqlConnection {
 public:
  static Result<SqlConnection> open(const std::filesystem::path& path, SqlAccess access,
                                    std::chrono::milliseconds busy_timeout);

  /// Runs a script of statements without parameters.
  Result<void> execute(const std::string& script);
  /// Runs one prepared statement; returns the number of rows it changed.
  Result<int64_t> run(std::string_view sql, const std::vector<SqlValue>& values = {});
  /// Calls `row` for each row; an error from it ends the query.
  Result<void> each(std::string_view sql, const std::vector<SqlValue>& values,
                    const std::function<Result<void>(const SqlRow&)>& row);
  /// One integer from the first row; `fallback` if there is no row or it is NULL.
  Result<int64_t> integer(std::string_view sql, const std::vector<SqlValue>& values = {},
                          int64_t fallback = 0);
  /// Queries SQLite's own state: on some errors it ends a transaction by itself.
  bool in_transaction() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  explicit SqlConnection(std::string path) : path_(std::move(path)) {}
  tl::unexpected<Error> failure(std::string_view doing) const;
  Result<sqlite3_stmt*> prepare(std::string_view sql);
  Result<sqlite3_stmt*> bound(std::string_view sql, const std::vector<SqlValue>& values);

  std::string path_;
  // The order matters: statements are destroyed before the connection.
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;
};

}  // namespace warpsmith

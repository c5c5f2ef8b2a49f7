// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/sqlite.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

namespace warpsmith {
namespace {

bool is_space_error(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

ErrorCode code_of(int result, int error_number) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return ErrorCode::disk_full;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::locked;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::corrupt;
    case SQLITE_CANTOPEN:
      return error_number == ENOENT ? ErrorCode::not_found : ErrorCode::io_failed;
    default:
      return is_space_error(error_number) ? ErrorCode::disk_full : ErrorCode::io_failed;
  }
}

int bind_one(sqlite3_stmt* statement, int index, const SqlValue& value) {
  struct Binder {
    sqlite3_stmt* statement;
    int index;
    int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
    int operator()(int64_t v) const { return sqlite3_bind_int64(statement, index, v); }
    int operator()(double v) const { return sqlite3_bind_double(statement, index, v); }
    int operator()(const std::string& v) const {
      return sqlite3_bind_text64(statement, index, v.data(), v.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    }
    int operator()(const ByteBuffer& v) const {
      return sqlite3_bind_blob64(statement, index, v.data(), v.size(), SQLITE_TRANSIENT);
    }
  };
  return std::visit(Binder{statement, index}, value);
}

/// Resets a statement for its next use and releases its read lock, however the use ended.
struct ResetAtEnd {
  sqlite3_stmt* statement;
  explicit ResetAtEnd(sqlite3_stmt* used) : statement(used) {}
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;
  ~ResetAtEnd() {
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
  }
};

}  // namespace

bool SqlRow::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
int64_t SqlRow::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double SqlRow::real(int column) const {
  return sqlite3_column_double(statement_, column);
}
std::string SqlRow::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string{} : std::string(bytes, size);
}
ByteBuffer SqlRow::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? ByteBuffer{} : ByteBuffer(bytes, bytes + size);
}
std::optional<double> SqlRow::maybe_real(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}

void SqlConnection::Close::operator()(sqlite3* handle) const noexcept {
  (void)sqlite3_close_v2(handle);
}
void SqlConnection::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  (void)sqlite3_finalize(statement);
}

tl::unexpected<Error> SqlConnection::failure(std::string_view doing) const {
  // SQLite keeps the system's error only for some calls (not for COMMIT); otherwise errno has it.
  const int system_error = errno;
  const int result = sqlite3_extended_errcode(handle_.get());
  const int kept = sqlite3_system_errno(handle_.get());
  const bool io_error = (result & 0xFF) == SQLITE_IOERR;
  const int error_number = kept != 0 || !io_error ? kept : system_error;
  std::string message = path_ + ": " + std::string(doing) + ": " + sqlite3_errmsg(handle_.get());
  if (error_number != 0) message += " (" + std::generic_category().message(error_number) + ")";
  return fail(code_of(result, error_number), std::move(message));
}

Result<SqlConnection> SqlConnection::open(const std::filesystem::path& path, SqlAccess access,
                                          std::chrono::milliseconds busy_timeout) {
  SqlConnection connection{path.string()};
  const int flags = access == SqlAccess::read_only ? SQLITE_OPEN_READONLY
                                                   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection.handle_.reset(handle);
  if (handle == nullptr) throw std::bad_alloc();
  if (result != SQLITE_OK) return connection.failure("cannot open");
  (void)sqlite3_busy_timeout(handle, static_cast<int>(busy_timeout.count()));
  return connection;
}

Result<void> SqlConnection::execute(const std::string& script) {
  errno = 0;
  if (sqlite3_exec(handle_.get(), script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failure(script.substr(0, 40));
  }
  return {};
}

Result<sqlite3_stmt*> SqlConnection::prepare(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) {
    return found->second.get();
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return failure(sql.substr(0, 40));
  }
  statements_.emplace(std::string(sql), statement);
  return statement;
}

Result<sqlite3_stmt*> SqlConnection::bound(std::string_view sql,
                                           const std::vector<SqlValue>& values) {
  TRY(auto statement, prepare(sql));
  for (size_t i = 0; i < values.size(); ++i) {
    if (bind_one(statement, static_cast<int>(i) + 1, values[i]) != SQLITE_OK) {
      return failure(sql.substr(0, 40));
    }
  }
  return statement;
}

Result<int64_t> SqlConnection::run(std::string_view sql, const std::vector<SqlValue>& values) {
  TRY(const auto statement, bound(sql, values));
  const ResetAtEnd reset{statement};
  errno = 0;
  int result = sqlite3_step(statement);
  while (result == SQLITE_ROW) result = sqlite3_step(statement);
  if (result != SQLITE_DONE) return failure(sql.substr(0, 40));
  return sqlite3_changes(handle_.get());
}

Result<void> SqlConnection::each(std::string_view sql, const std::vector<SqlValue>& values,
                                 const std::function<Result<void>(const SqlRow&)>& row) {
  TRY(const auto statement, bound(sql, values));
  const ResetAtEnd reset{statement};
  errno = 0;
  int result = sqlite3_step(statement);
  for (; result == SQLITE_ROW; result = sqlite3_step(statement)) {
    TRY_VOID(row(SqlRow{statement}));
  }
  if (result != SQLITE_DONE) return failure(sql.substr(0, 40));
  return {};
}

Result<int64_t> SqlConnection::integer(std::string_view sql, const std::vector<SqlValue>& values,
                                       int64_t fallback) {
  int64_t value = fallback;
  TRY_VOID(each(sql, values, [&](const SqlRow& row) -> Result<void> {
    if (!row.is_null(0)) value = row.integer(0);
    return {};
  }));
  return value;
}

bool SqlConnection::in_transaction() const {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_database.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "runtime/clock.hpp"
#include "runtime/codec.hpp"
#include "runtime/json.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/record_columns.hpp"
#include "runtime/run/sqlite.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

// Times are UTC text. Phases are derived (view trajectory_phase), not stored: a checkpoint that
// becomes durable then changes one row, and no two columns can disagree. {} is the columns of
// Outcome.
constexpr const char* tables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('durable_step', 0), ('incarnation', 0);

CREATE TABLE incarnations (
  incarnation INTEGER PRIMARY KEY, restored_step INTEGER NOT NULL, started_at TEXT NOT NULL,
  wall_s REAL NOT NULL DEFAULT 0);

CREATE TABLE tasks (
  id TEXT NOT NULL, content_hash TEXT NOT NULL, source TEXT NOT NULL, ops TEXT NOT NULL,
  code TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (id, content_hash));

CREATE TABLE trajectories (
  id INTEGER PRIMARY KEY, task_id TEXT NOT NULL, task_hash TEXT NOT NULL,
  admitted_incarnation INTEGER NOT NULL, admitted_step INTEGER NOT NULL, admitted_at TEXT NOT NULL,
  segments INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
  action_tokens INTEGER NOT NULL DEFAULT 0,
  closed_at TEXT, {},
  drop_reason TEXT, drop_detail TEXT, dropped_at TEXT, dropped_incarnation INTEGER,
  trained_step INTEGER,
  FOREIGN KEY (task_id, task_hash) REFERENCES tasks (id, content_hash),
  CHECK (drop_reason IS NULL OR trained_step IS NULL),
  CHECK (trained_step IS NULL OR closed_at IS NOT NULL),
  CHECK (closed_at IS NULL OR reward IS NOT NULL));

CREATE TABLE segments (
  trajectory INTEGER NOT NULL REFERENCES trajectories (id), number INTEGER NOT NULL,
  file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
  checksum INTEGER NOT NULL, tokens INTEGER NOT NULL,
  PRIMARY KEY (trajectory, number)) WITHOUT ROWID;

-- Every use of a trajectory by an optimiser step. A resume marks the uses that it rolls back; the
-- index enforces that nothing is trained twice in the surviving lineage.
CREATE TABLE trainings (
  trajectory INTEGER NOT NULL REFERENCES trajectories (id), incarnation INTEGER NOT NULL,
  step INTEGER NOT NULL, rolled_back INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX one_training ON trainings (trajectory) WHERE rolled_back = 0;
CREATE INDEX trainings_by_step ON trainings (step);

CREATE TABLE steps (
  incarnation INTEGER NOT NULL, step INTEGER NOT NULL, at TEXT NOT NULL,
  trajectories INTEGER NOT NULL, metrics TEXT NOT NULL, rolled_back INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (incarnation, step)) WITHOUT ROWID;

CREATE TABLE events (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, actor TEXT NOT NULL,
  text TEXT NOT NULL);

CREATE VIEW trajectory_phase AS SELECT id, CASE
  WHEN drop_reason IS NOT NULL THEN 'dropped'
  WHEN trained_step <= (SELECT value FROM meta WHERE key = 'durable_step') THEN 'trained'
  WHEN trained_step IS NOT NULL THEN 'stepped'
  WHEN closed_at IS NOT NULL THEN 'closed'
  ELSE 'open' END AS phase FROM trajectories;
)sql";

/// A virtual column for each field of a verdict and of its first shape, so that queries can use the
/// field's name instead of its JSON path.
std::string verdict_columns() {
  std::string columns;
  const auto add_below = [&](const char* place) {
    return [&, place](std::string_view name, const auto&) {
      columns += fmt::format(", {} AS (json_extract(record, '$.{}{}')) VIRTUAL", name, place, name);
    };
  };
  Verdict verdict;
  Verdict::describe(add_below(""), verdict);
  ShapeResult shape;
  ShapeResult::describe(add_below("shapes[0]."), shape);
  return columns;
}

/// `record` is the verdict as JSON.
std::string verdicts_table() {
  return "CREATE TABLE verdicts (id INTEGER PRIMARY KEY, trajectory INTEGER NOT NULL, turn INTEGER "
         "NOT NULL, at TEXT NOT NULL, final INTEGER NOT NULL, record TEXT NOT NULL" +
         verdict_columns() + ");CREATE INDEX verdicts_by_trajectory ON verdicts (trajectory);";
}

Result<void> make_tables(SqlConnection& connection) {
  const std::string script = fmt::format(
      "BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {};{}{}COMMIT;",
      run_application_id, run_schema_version, fmt::format(tables, column_definitions<Outcome>()),
      verdicts_table());
  auto made = connection.execute(script);
  if (!made && connection.in_transaction()) (void)connection.execute("ROLLBACK");
  return made;
}

Result<void> set_pragmas(SqlConnection& connection, SqlAccess access) {
  if (access == SqlAccess::read_only) return connection.execute("PRAGMA query_only = 1");
  // FULL: a commit is on disk before it is acknowledged, even if the machine loses power.
  return connection.execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = 1;"
      "PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 67108864");
}

/// Creates the tables in an empty database; checks the version and mark of any other. `unsupported`
/// for another version, `corrupt` for a database that is not a run's.
Result<void> prepare_schema(SqlConnection& connection, SqlAccess access) {
  TRY(const auto version, connection.integer("PRAGMA user_version"));
  const auto mark = connection.integer("PRAGMA application_id");
  TRY(const auto objects, connection.integer("SELECT count(*) FROM sqlite_master"));
  const bool empty = objects == 0 && version == 0;
  if (!empty && mark.value_or(0) != run_application_id) {
    return fail(ErrorCode::corrupt, "run.db: a database, but not a run's");
  }
  if (!empty && version != run_schema_version) {
    return fail(ErrorCode::unsupported,
                fmt::format("run.db: schema version {}, but this program reads version {}; read it "
                            "with the program that wrote it",
                            version, run_schema_version));
  }
  if (empty && access == SqlAccess::read_only) {
    return fail(ErrorCode::not_found, "run.db: the database is empty");
  }
  TRY_VOID(set_pragmas(connection, access));
  return empty ? make_tables(connection) : Result<void>{};
}

std::string metrics_json(const std::map<std::string, double>& metrics) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : metrics) {
    object[name] = std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
  }
  return json_text(object);
}

Result<SqlConnection> connect(const fs::path& path, SqlAccess access,
                              std::chrono::milliseconds busy_timeout) {
  TRY(auto connection, SqlConnection::open(path, access, busy_timeout));
  if (auto ready = prepare_schema(connection, access); !ready) {
    return fail(path.string(), std::move(ready.error()));
  }
  return connection;
}

/// True if files cannot be made next to `path`, as on a read-only mount.
bool is_in_fixed_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return ::access(folder.c_str(), R_OK) == 0 && ::access(folder.c_str(), W_OK) != 0;
}

/// Copies the database, then its log.
Result<OwnedFolder> copied(const fs::path& path) {
  TRY(auto folder, OwnedFolder::make(fs::temp_directory_path()));
  for (const char* part : {"", "-wal"}) {
    const fs::path from = path.string() + part;
    std::error_code error;
    if (!fs::exists(from, error)) continue;
    fs::copy_file(from, folder.path() / from.filename(), error);
    if (error) return fail_with_errno("cannot copy", from, error.value());
  }
  return folder;
}

}  // namespace

Result<RunDatabase> RunDatabase::open(const fs::path& path, SqlAccess access,
                                      std::chrono::milliseconds busy_timeout) {
  if (access == SqlAccess::read_write || !is_in_fixed_folder(path)) {
    TRY(auto connection, connect(path, access, busy_timeout));
    return RunDatabase{nullptr, std::move(connection)};
  }
  TRY(auto folder, copied(path));
  const auto copy = std::make_shared<const OwnedFolder>(std::move(folder));
  auto connection = connect(copy->path() / path.filename(), access, busy_timeout);
  if (!connection) return fail("a copy of " + path.string(), std::move(connection.error()));
  return RunDatabase{copy, std::move(*connection)};
}

Result<void> RunDatabase::check_integrity() {
  return connection_.each("PRAGMA quick_check(1)", {}, [](const SqlRow& row) -> Result<void> {
    if (row.text(0) == "ok") return {};
    return fail(ErrorCode::corrupt, "run.db is damaged: " + row.text(0));
  });
}

Result<void> RunDatabase::begin() {
  return connection_.execute("BEGIN IMMEDIATE");
}

Result<void> RunDatabase::commit() {
  return connection_.execute("COMMIT");
}

void RunDatabase::rollback() {
  // SQLite may already have ended the transaction, e.g. on a full disk.
  if (in_transaction()) (void)connection_.execute("ROLLBACK");
}

Result<void> RunDatabase::change_one(std::string_view sql, const std::vector<SqlValue>& values,
                                     TrajectoryId id) {
  TRY(const auto changed, connection_.run(sql, values));
  if (changed == 1) return {};
  return fail(ErrorCode::not_found, fmt::format("run.db: there is no trajectory {}", id));
}

Result<uint32_t> RunDatabase::begin_incarnation(uint32_t restored_step) {
  TRY(const auto last, connection_.integer("SELECT max(incarnation) FROM incarnations"));
  const SqlValue step = int64_t{restored_step};
  const SqlValue next = last + 1;
  struct Statement {
    std::string_view sql;
    std::vector<SqlValue> values;
  };
  const Statement statements[] = {
      {"INSERT INTO incarnations (incarnation, restored_step, started_at) VALUES (?, ?, ?)",
       {next, step, utc_timestamp()}},
      {"UPDATE meta SET value = ? WHERE key = 'incarnation'", {next}},
      {"UPDATE meta SET value = ? WHERE key = 'durable_step'", {step}},
      {"UPDATE trajectories SET trained_step = NULL WHERE trained_step > ?", {step}},
      {"UPDATE trainings SET rolled_back = 1 WHERE step > ? AND rolled_back = 0", {step}},
      {"UPDATE steps SET rolled_back = 1 WHERE step > ? AND rolled_back = 0", {step}},
  };
  for (const Statement& statement : statements) {
    TRY_VOID(connection_.run(statement.sql, statement.values));
  }
  return static_cast<uint32_t>(last + 1);
}

Result<void> RunDatabase::set_wall_seconds(uint32_t incarnation, double seconds) {
  const auto done = connection_.run("UPDATE incarnations SET wall_s = ? WHERE incarnation = ?",
                                    {seconds, int64_t{incarnation}});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::put_task(const Task& task) {
  const auto done = connection_.run(
      "INSERT OR IGNORE INTO tasks (id, content_hash, source, ops, code, record) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      {task.id, task.content_hash, task.source, json_text(json_of(task.ops)), task.code,
       codec::pack(task)});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::put_admission(TrajectoryId id, const Task& task, PolicyVersion version) {
  const auto done = connection_.run(
      "INSERT INTO trajectories (id, task_id, task_hash, admitted_incarnation, admitted_step, "
      "admitted_at) VALUES (?, ?, ?, ?, ?, ?)",
      {sql_number(id), task.id, task.content_hash, int64_t{version.incarnation},
       int64_t{version.step}, utc_timestamp()});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::put_segment(const SegmentRow& row) {
  TRY_VOID(connection_.run(
      "INSERT INTO segments (trajectory, number, file, offset, length, checksum, tokens) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      {sql_number(row.trajectory), int64_t{row.number}, int64_t{row.place.file},
       sql_number(row.place.offset), int64_t{row.place.length}, sql_number(row.place.checksum),
       int64_t{row.tokens}}));
  return change_one(
      "UPDATE trajectories SET segments = segments + 1, tokens = tokens + ?, "
      "action_tokens = action_tokens + ? WHERE id = ?",
      {int64_t{row.tokens}, int64_t{row.action_tokens}, sql_number(row.trajectory)},
      row.trajectory);
}

Result<void> RunDatabase::put_outcome(TrajectoryId id, const Outcome& outcome) {
  static const std::string sql = fmt::format(
      "UPDATE trajectories SET {}, closed_at = ? WHERE id = ?", column_assignments<Outcome>());
  std::vector<SqlValue> values = column_values(outcome);
  values.insert(values.end(), {utc_timestamp(), sql_number(id)});
  return change_one(sql, values, id);
}

Result<void> RunDatabase::put_drop(TrajectoryId id, DropReason reason, const std::string& detail) {
  return change_one(
      "UPDATE trajectories SET drop_reason = ?, drop_detail = ?, dropped_at = ?, "
      "dropped_incarnation = (SELECT value FROM meta WHERE key = 'incarnation') WHERE id = ?",
      {std::string(to_string(reason)), detail, utc_timestamp(), sql_number(id)}, id);
}

Result<void> RunDatabase::put_step(const StepRow& step) {
  const int64_t incarnation = step.version.incarnation;
  const int64_t at = step.version.step;
  TRY_VOID(connection_.run(
      "INSERT INTO steps (incarnation, step, at, trajectories, metrics) VALUES (?, ?, ?, ?, ?)",
      {incarnation, at, utc_timestamp(), sql_number(step.trajectories.size()),
       metrics_json(step.metrics)}));
  for (const TrajectoryId id : step.trajectories) {
    const auto used =
        connection_.run("INSERT INTO trainings (trajectory, incarnation, step) VALUES (?, ?, ?)",
                        {sql_number(id), incarnation, at});
    if (!used) return tl::unexpected(used.error());
    TRY_VOID(change_one("UPDATE trajectories SET trained_step = ? WHERE id = ?",
                        {at, sql_number(id)}, id));
  }
  return {};
}

Result<void> RunDatabase::set_durable_step(uint32_t step) {
  const auto done =
      connection_.run("UPDATE meta SET value = ? WHERE key = 'durable_step'", {int64_t{step}});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::set_learns(bool learns) {
  const auto done =
      connection_.run("INSERT OR REPLACE INTO meta VALUES ('learns', ?)", {int64_t{learns}});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::put_verdict(const VerdictRow& row) {
  const auto done = connection_.run(
      "INSERT INTO verdicts (trajectory, turn, at, final, record) VALUES (?, ?, ?, ?, ?)",
      {sql_number(row.trajectory), int64_t{row.turn}, utc_timestamp(), int64_t{row.final},
       json_text(json_of(row.verdict))});
  return done.map([](int64_t) {});
}

Result<void> RunDatabase::put_event(const std::string& kind, const std::string& actor,
                                    const std::string& text) {
  const auto done =
      connection_.run("INSERT INTO events (at, kind, actor, text) VALUES (?, ?, ?, ?)",
                      {utc_timestamp(), kind, actor, text});
  return done.map([](int64_t) {});
}

}  // namespace warpsmith

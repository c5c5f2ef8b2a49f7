// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_database.hpp"

#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/clock.hpp"
#include "runtime/codec.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_schema.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

std::string dumped(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string metrics_json(const std::map<std::string, double>& metrics) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : metrics) {
    object[name] = std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
  }
  return dumped(object);
}

/// The measurements that get columns: those of the first shape.
ShapeResult headline(const Verdict& verdict) {
  return verdict.shapes.empty() ? ShapeResult{} : verdict.shapes.front();
}

Result<SqlConnection> connect(const fs::path& path, SqlAccess access,
                              std::chrono::milliseconds busy_timeout) {
  auto connection = SqlConnection::open(path, access, busy_timeout);
  if (!connection) return connection;
  if (auto ready = prepare_schema(*connection, access); !ready) {
    return fail(path.string(), std::move(ready.error()));
  }
  return connection;
}

/// True if files cannot be made beside `path`, as on a read-only mount.
bool is_in_fixed_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return ::access(folder.c_str(), R_OK) == 0 && ::access(folder.c_str(), W_OK) != 0;
}

/// Copies the database, then its log.
Result<OwnedFolder> copied(const fs::path& path) {
  auto folder = OwnedFolder::make(fs::temp_directory_path());
  if (!folder) return folder;
  for (const char* part : {"", "-wal"}) {
    const fs::path from = path.string() + part;
    std::error_code error;
    if (!fs::exists(from, error)) continue;
    fs::copy_file(from, folder->path() / from.filename(), error);
    if (error) return fail_with_errno("cannot copy", from, error.value());
  }
  return folder;
}

}  // namespace

Result<RunDatabase> RunDatabase::open(const fs::path& path, SqlAccess access,
                                      std::chrono::milliseconds busy_timeout) {
  if (access == SqlAccess::read_write || !is_in_fixed_folder(path)) {
    auto connection = connect(path, access, busy_timeout);
    if (!connection) return tl::unexpected(std::move(connection.error()));
    return RunDatabase{nullptr, std::move(*connection)};
  }
  auto folder = copied(path);
  if (!folder) return tl::unexpected(std::move(folder.error()));
  const auto copy = std::make_shared<const OwnedFolder>(std::move(*folder));
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
  const auto changed = connection_.run(sql, values);
  if (!changed) return tl::unexpected(changed.error());
  if (*changed == 1) return {};
  return fail(ErrorCode::not_found, "run.db: there is no trajectory " + std::to_string(id));
}

Result<uint32_t> RunDatabase::begin_incarnation(uint32_t restored_step) {
  const auto last = connection_.integer("SELECT max(incarnation) FROM incarnations");
  if (!last) return tl::unexpected(last.error());
  const SqlValue step = int64_t{restored_step};
  const SqlValue next = *last + 1;
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
    const auto done = connection_.run(statement.sql, statement.values);
    if (!done) return tl::unexpected(done.error());
  }
  return static_cast<uint32_t>(*last + 1);
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
      {task.id, task.content_hash, task.source, dumped(task.ops), task.code, codec::pack(task)});
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
  const auto done = connection_.run(
      "INSERT INTO segments (trajectory, number, file, offset, length, checksum, tokens) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      {sql_number(row.trajectory), int64_t{row.number}, int64_t{row.place.file},
       sql_number(row.place.offset), int64_t{row.place.length}, sql_number(row.place.checksum),
       int64_t{row.tokens}});
  if (!done) return tl::unexpected(done.error());
  return change_one(
      "UPDATE trajectories SET segments = segments + 1, tokens = tokens + ?, "
      "action_tokens = action_tokens + ? WHERE id = ?",
      {int64_t{row.tokens}, int64_t{row.action_tokens}, sql_number(row.trajectory)},
      row.trajectory);
}

Result<void> RunDatabase::put_outcome(TrajectoryId id, const Outcome& outcome) {
  return change_one(
      "UPDATE trajectories SET closed_at = ?, reward = ?, verdict = ?, source_hash = ?, turns = ?, "
      "tool_calls = ?, truncated = ?, speedup_eager = ?, speedup_compile = ? WHERE id = ?",
      {utc_timestamp(), outcome.reward, std::string(verdict_name(outcome)), outcome.source_hash,
       int64_t{outcome.turns}, int64_t{outcome.tool_calls}, int64_t{outcome.truncated},
       sql_value(outcome.speedup_eager), sql_value(outcome.speedup_compile), sql_number(id)},
      id);
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
  const auto done = connection_.run(
      "INSERT INTO steps (incarnation, step, at, trajectories, metrics) VALUES (?, ?, ?, ?, ?)",
      {incarnation, at, utc_timestamp(), sql_number(step.trajectories.size()),
       metrics_json(step.metrics)});
  if (!done) return tl::unexpected(done.error());
  for (const TrajectoryId id : step.trajectories) {
    const auto used =
        connection_.run("INSERT INTO trainings (trajectory, incarnation, step) VALUES (?, ?, ?)",
                        {sql_number(id), incarnation, at});
    if (!used) return tl::unexpected(used.error());
    auto marked = change_one("UPDATE trajectories SET trained_step = ? WHERE id = ?",
                             {at, sql_number(id)}, id);
    if (!marked) return marked;
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
  const Verdict& v = row.verdict;
  const ShapeResult shape = headline(v);
  const auto done = connection_.run(
      "INSERT INTO verdicts (trajectory, turn, at, final, outcome, contract, trust, "
      "submission_hash, candidate_ms, eager_ms, compile_ms, speedup_eager, "
      "speedup_compile, feedback, evidence, record) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {sql_number(row.trajectory), int64_t{row.turn}, utc_timestamp(), int64_t{row.final},
       std::string(to_string(v.outcome)), v.contract, std::string(to_string(v.trust)),
       v.submission_hash, sql_value(shape.candidate_ms), sql_value(shape.eager_ms),
       sql_value(shape.compile_ms), sql_value(shape.speedup_eager),
       sql_value(shape.speedup_compile), v.feedback, v.evidence, codec::pack(v)});
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

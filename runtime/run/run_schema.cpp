// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_schema.hpp"

namespace warpsmith {
namespace {

// Times are UTC text. Phases are derived (view trajectory_phase), not stored: a checkpoint that
// becomes durable then changes one row, and no two columns can disagree.
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
  closed_at TEXT, reward REAL, verdict TEXT, source_hash TEXT, turns INTEGER, tool_calls INTEGER,
  truncated INTEGER, speedup_eager REAL, speedup_compile REAL,
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

CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY, trajectory INTEGER NOT NULL, turn INTEGER NOT NULL, at TEXT NOT NULL,
  final INTEGER NOT NULL, outcome TEXT NOT NULL, contract TEXT NOT NULL, trust TEXT NOT NULL,
  submission_hash TEXT NOT NULL, candidate_ms REAL, eager_ms REAL, compile_ms REAL,
  speedup_eager REAL, speedup_compile REAL, feedback TEXT NOT NULL,
  evidence TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX verdicts_by_trajectory ON verdicts (trajectory);

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

Result<void> make_tables(SqlConnection& connection) {
  const std::string script =
      "BEGIN IMMEDIATE; PRAGMA application_id = " + std::to_string(run_application_id) +
      "; PRAGMA user_version = " + std::to_string(run_schema_version) + ";" + tables + "COMMIT;";
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

}  // namespace

Result<void> prepare_schema(SqlConnection& connection, SqlAccess access) {
  const auto version = connection.integer("PRAGMA user_version");
  if (!version) return tl::unexpected(version.error());
  const auto mark = connection.integer("PRAGMA application_id");
  const auto objects = connection.integer("SELECT count(*) FROM sqlite_master");
  if (!objects) return tl::unexpected(objects.error());
  const bool empty = *objects == 0 && *version == 0;
  if (!empty && mark.value_or(0) != run_application_id) {
    return fail(ErrorCode::corrupt, "run.db: a database, but not one of a run");
  }
  if (!empty && *version != run_schema_version) {
    return fail(ErrorCode::unsupported, "run.db: schema version " + std::to_string(*version) +
                                            ", but this program reads version " +
                                            std::to_string(run_schema_version));
  }
  if (empty && access == SqlAccess::read_only) {
    return fail(ErrorCode::not_found, "run.db: the database is empty");
  }
  if (auto set = set_pragmas(connection, access); !set) return set;
  return empty ? make_tables(connection) : Result<void>{};
}

}  // namespace warpsmith

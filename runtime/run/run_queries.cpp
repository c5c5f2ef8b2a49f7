// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/codec.hpp"
#include "runtime/json.hpp"
#include "runtime/run/record_columns.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith {
namespace {

Result<TrajectoryRow> trajectory_of(const SqlRow& row) {
  TrajectoryRow out;
  out.id = static_cast<uint64_t>(row.integer(0));
  out.task_id = row.text(1);
  out.task_hash = row.text(2);
  out.admitted_at = {static_cast<uint32_t>(row.integer(3)), static_cast<uint32_t>(row.integer(4))};
  out.segments = static_cast<uint32_t>(row.integer(5));
  out.tokens = static_cast<uint64_t>(row.integer(6));
  out.action_tokens = static_cast<uint64_t>(row.integer(7));
  if (!row.is_null(8)) {
    out.drop_reason = enum_of<DropReason>(row.text(8));
    if (!out.drop_reason) {
      return fail(ErrorCode::corrupt,
                  fmt::format("run.db: trajectory {} has the unknown drop reason '{}'", out.id,
                              row.text(8)));
    }
  }
  if (!row.is_null(9)) out.trained_step = static_cast<uint32_t>(row.integer(9));
  if (!row.is_null(10)) out.drop_detail = row.text(10);
  if (!row.is_null(11)) {
    TRY(out.outcome, record_of<Outcome>(row, 12));
  }
  return out;
}

/// Sums up the last N trajectories in order of admission; they are added newest first.
struct LastWindow {
  uint64_t rows = 0, passed = 0, fast_eager = 0, fast_compile = 0;
  double reward = 0;
  std::set<std::string> sources;
  std::vector<int64_t> tool_calls;

  void add(const Outcome& outcome) {
    ++rows;
    reward += outcome.reward;
    passed += outcome.verdict == VerdictClass::passed ? 1 : 0;
    fast_eager += clearly_faster(outcome.speedup_eager.value_or(0)) ? 1 : 0;
    fast_compile += clearly_faster(outcome.speedup_compile.value_or(0)) ? 1 : 0;
    if (!outcome.source_hash.empty()) sources.insert(outcome.source_hash);
    tool_calls.push_back(outcome.tool_calls);
  }

  void write(RunSummary& summary) {
    if (rows == 0) return;
    const auto count = static_cast<double>(rows);
    summary.reward_last = reward / count;
    summary.pass_rate_last = static_cast<double>(passed) / count;
    summary.fast_eager_last = static_cast<double>(fast_eager) / count;
    summary.fast_compile_last = static_cast<double>(fast_compile) / count;
    summary.distinct_sources_last = sources.size();
    std::sort(tool_calls.begin(), tool_calls.end());
    const size_t middle = tool_calls.size() / 2;
    const int64_t upper = tool_calls[middle];
    const int64_t lower = tool_calls.size() % 2 == 1 ? upper : tool_calls[middle - 1];
    summary.median_tool_calls_last = static_cast<double>(lower + upper) / 2;
  }
};

Result<void> count_phases(RunDatabase& db, RunSummary& summary) {
  const std::map<std::string, uint64_t*> counters{{"open", &summary.open},
                                                  {"closed", &summary.closed},
                                                  {"stepped", &summary.stepped},
                                                  {"trained", &summary.trained}};
  TRY_VOID(db.connection().each("SELECT phase, count(*) FROM trajectory_phase GROUP BY phase", {},
                                [&](const SqlRow& row) -> Result<void> {
                                  if (const auto found = counters.find(row.text(0));
                                      found != counters.end()) {
                                    *found->second = static_cast<uint64_t>(row.integer(1));
                                  }
                                  return {};
                                }));
  summary.in_flight = summary.open + summary.closed + summary.stepped;
  return db.connection().each(
      // With max(id), SQLite returns the other columns of the same row.
      "SELECT drop_reason, count(*), coalesce(drop_detail, ''), max(id) FROM trajectories "
      "WHERE drop_reason IS NOT NULL GROUP BY drop_reason",
      {}, [&](const SqlRow& row) -> Result<void> {
        summary.dropped[row.text(0)] = static_cast<uint64_t>(row.integer(1));
        summary.dropped_why[row.text(0)] = row.text(2);
        return {};
      });
}

Result<void> read_totals(RunDatabase& db, RunSummary& summary) {
  TRY_VOID(db.connection().each(
      "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(action_tokens), 0) "
      "FROM trajectories",
      {}, [&](const SqlRow& row) -> Result<void> {
        summary.admitted = static_cast<uint64_t>(row.integer(0));
        summary.tokens = static_cast<uint64_t>(row.integer(1));
        summary.action_tokens = static_cast<uint64_t>(row.integer(2));
        return {};
      }));
  return db.connection().each(
      "SELECT count(*), coalesce(sum(wall_s), 0), min(started_at), max(started_at) "
      "FROM incarnations",
      {}, [&](const SqlRow& row) -> Result<void> {
        summary.incarnations = static_cast<uint32_t>(row.integer(0));
        summary.wall_s = row.real(1);
        summary.started_at = row.text(2);
        summary.last_started_at = row.text(3);
        return {};
      });
}

Result<void> read_rewards(RunDatabase& db, uint32_t window, RunSummary& summary) {
  TRY_VOID(db.connection().each(
      "SELECT avg(reward) FROM (SELECT reward FROM trajectories WHERE closed_at IS NOT NULL "
      "ORDER BY id LIMIT ?)",
      {int64_t{window}}, [&](const SqlRow& row) -> Result<void> {
        summary.reward_first = row.maybe_real(0);
        return {};
      }));
  LastWindow last;
  auto read = db.connection().each(
      fmt::format(
          "SELECT {} FROM trajectories WHERE closed_at IS NOT NULL ORDER BY id DESC LIMIT ?",
          column_names<Outcome>()),
      {int64_t{window}}, [&](const SqlRow& row) -> Result<void> {
        TRY(const auto outcome, record_of<Outcome>(row, 0));
        last.add(outcome);
        return {};
      });
  if (read) last.write(summary);
  return read;
}

Result<void> read_steps(RunDatabase& db, RunSummary& summary) {
  TRY(const auto durable, durable_step_of(db));
  TRY(const auto last, last_step_of(db));
  const auto learns =
      db.connection().integer("SELECT coalesce((SELECT value FROM meta WHERE key = 'learns'), 1)");
  if (!learns) return tl::unexpected(learns.error());
  summary.learns = *learns != 0;
  summary.durable_step = durable;
  summary.last_step = last;
  return db.connection().each(
      "SELECT max(metrics ->> 'memory_peak_bytes'), max(metrics ->> 'memory_plan_bytes') "
      "FROM steps WHERE rolled_back = 0",
      {}, [&](const SqlRow& row) -> Result<void> {
        summary.memory_peak = row.maybe_real(0);
        summary.memory_plan = row.maybe_real(1);
        return {};
      });
}

}  // namespace

Result<std::vector<TrajectoryRow>> trajectory_rows(RunDatabase& db, TrajectoryId first,
                                                   TrajectoryId last) {
  std::vector<TrajectoryRow> rows;
  TRY_VOID(db.connection().each(
      fmt::format("SELECT id, task_id, task_hash, admitted_incarnation, admitted_step, segments, "
                  "tokens, action_tokens, drop_reason, trained_step, drop_detail, closed_at, {} "
                  "FROM trajectories WHERE id BETWEEN ? AND ? ORDER BY id",
                  column_names<Outcome>()),
      {sql_number(first), sql_number(std::min<uint64_t>(last, INT64_MAX))},
      [&](const SqlRow& row) -> Result<void> {
        TRY(auto one, trajectory_of(row));
        rows.push_back(std::move(one));
        return {};
      }));
  return rows;
}

Result<TrajectoryRow> trajectory_row(RunDatabase& db, TrajectoryId id) {
  TRY(auto rows, trajectory_rows(db, id, id));
  if (rows.empty()) {
    return fail(ErrorCode::not_found, fmt::format("trajectory {} was never admitted", id));
  }
  return std::move(rows.front());
}

Result<std::vector<SegmentRow>> segment_rows(RunDatabase& db, TrajectoryId id) {
  std::vector<SegmentRow> rows;
  TRY_VOID(db.connection().each(
      "SELECT number, file, offset, length, checksum, tokens FROM segments WHERE trajectory = ? "
      "ORDER BY number",
      {sql_number(id)}, [&](const SqlRow& row) -> Result<void> {
        SegmentRow segment{.trajectory = id, .number = static_cast<uint32_t>(row.integer(0))};
        segment.place = {
            static_cast<uint32_t>(row.integer(1)), static_cast<uint64_t>(row.integer(2)),
            static_cast<uint32_t>(row.integer(3)), static_cast<uint64_t>(row.integer(4))};
        segment.tokens = static_cast<uint32_t>(row.integer(5));
        rows.push_back(segment);
        return {};
      }));
  return rows;
}

Result<DurableEnd> indexed_end(RunDatabase& db) {
  DurableEnd end;
  constexpr int64_t frame_bytes = 16;
  TRY_VOID(db.connection().each(
      "SELECT file, max(offset + length) FROM segments WHERE file = (SELECT max(file) FROM "
      "segments) GROUP BY file",
      {}, [&](const SqlRow& row) -> Result<void> {
        end = {static_cast<uint32_t>(row.integer(0)),
               static_cast<uint64_t>(row.integer(1) + frame_bytes)};
        return {};
      }));
  return end;
}

Result<Task> stored_task(RunDatabase& db, const std::string& id, const std::string& content_hash) {
  std::optional<Result<Task>> task;
  const auto read =
      db.connection().each("SELECT record FROM tasks WHERE id = ? AND content_hash = ?",
                           {id, content_hash}, [&](const SqlRow& row) -> Result<void> {
                             task = codec::unpack<Task>(row.blob(0));
                             return {};
                           });
  if (!read) return tl::unexpected(read.error());
  if (!task) return fail(ErrorCode::not_found, "run.db: no task " + id + " (" + content_hash + ")");
  return std::move(*task);
}

Result<std::vector<VerdictRow>> verdict_rows(RunDatabase& db, TrajectoryId id) {
  std::vector<VerdictRow> rows;
  TRY_VOID(db.connection().each(
      "SELECT turn, final, record FROM verdicts WHERE trajectory = ? ORDER BY id", {sql_number(id)},
      [&](const SqlRow& row) -> Result<void> {
        TRY(auto verdict, from_json_text<Verdict>(row.text(2), "run.db: a verdict"));
        rows.push_back(
            {id, static_cast<uint32_t>(row.integer(0)), row.integer(1) != 0, std::move(verdict)});
        return {};
      }));
  return rows;
}

Result<std::vector<EventRow>> recent_events(RunDatabase& db, uint32_t limit) {
  std::vector<EventRow> rows;
  const auto read =
      db.connection().each("SELECT at, kind, actor, text FROM events ORDER BY id DESC LIMIT ?",
                           {int64_t{limit}}, [&](const SqlRow& row) -> Result<void> {
                             rows.push_back({row.text(0), row.text(1), row.text(2), row.text(3)});
                             return {};
                           });
  if (!read) return tl::unexpected(read.error());
  std::reverse(rows.begin(), rows.end());
  return rows;
}

Result<std::vector<std::map<std::string, double>>> step_metrics(RunDatabase& db) {
  std::vector<std::map<std::string, double>> all;
  TRY_VOID(db.connection().each(
      "SELECT metrics FROM steps WHERE rolled_back = 0 ORDER BY step", {},
      [&](const SqlRow& row) -> Result<void> {
        const auto json = nlohmann::json::parse(row.text(0), nullptr, /*allow_exceptions=*/false);
        if (!json.is_object())
          return fail(ErrorCode::corrupt, "run.db: a step's metrics are not a JSON object");
        std::map<std::string, double>& metrics = all.emplace_back();
        for (const auto& [name, value] : json.items()) {
          if (value.is_number()) metrics[name] = value.get<double>();
        }
        return {};
      }));
  return all;
}

Result<uint32_t> durable_step_of(RunDatabase& db) {
  return db.connection()
      .integer("SELECT value FROM meta WHERE key = 'durable_step'")
      .map([](int64_t step) { return static_cast<uint32_t>(step); });
}

Result<uint32_t> last_step_of(RunDatabase& db) {
  return db.connection()
      .integer(
          "SELECT max((SELECT coalesce(max(step), 0) FROM steps WHERE rolled_back = 0), "
          "(SELECT value FROM meta WHERE key = 'durable_step'))")
      .map([](int64_t step) { return static_cast<uint32_t>(step); });
}

uint64_t RunSummary::dropped_total() const {
  uint64_t total = 0;
  for (const auto& [reason, count] : dropped) total += count;
  return total;
}

Result<RunSummary> summarize(RunDatabase& db, uint32_t window) {
  RunSummary summary;
  const bool own = !db.in_transaction();
  if (own) {
    TRY_VOID(db.connection().execute("BEGIN"));
  }
  auto read = count_phases(db, summary);
  if (read) read = read_totals(db, summary);
  if (read) read = read_rewards(db, window, summary);
  if (read) read = read_steps(db, summary);
  if (own) db.rollback();
  if (!read) return tl::unexpected(read.error());
  return summary;
}

Result<std::vector<CurvePoint>> learning_curve(RunDatabase& db, uint32_t points) {
  std::vector<CurvePoint> curve;
  TRY_VOID(db.connection().each(
      "SELECT avg(reward), avg(passed) FROM (SELECT reward, verdict = ? AS passed, "
      "ntile(?) OVER (ORDER BY id) AS part FROM trajectories WHERE closed_at IS NOT NULL) "
      "GROUP BY part ORDER BY part",
      {std::string(to_string(VerdictClass::passed)), int64_t{std::max(points, 1U)}},
      [&](const SqlRow& row) -> Result<void> {
        curve.push_back({row.real(0), row.real(1)});
        return {};
      }));
  return curve;
}

}  // namespace warpsmith

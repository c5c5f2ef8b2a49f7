// SPDX-License-Identifier: Apache-2.0
// Queries of a run database, for a resume, `runs list`, `runs show` and the summary.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/run/run_database.hpp"

namespace warpsmith {

/// One trajectory as recorded. Its phase follows from `outcome`, `drop_reason` and `trained_step`.
struct TrajectoryRow {
  TrajectoryId id = 0;
  std::string task_id;
  std::string task_hash;
  PolicyVersion admitted_at;
  uint32_t segments = 0;
  uint64_t tokens = 0;
  uint64_t action_tokens = 0;
  std::optional<Outcome> outcome;  // empty until it is closed
  std::optional<DropReason> drop_reason;
  std::string drop_detail;  // in words; empty unless dropped
  std::optional<uint32_t> trained_step;
};

/// The trajectories first ≤ id ≤ last, in order of admission.
Result<std::vector<TrajectoryRow>> trajectory_rows(RunDatabase& db, TrajectoryId first,
                                                   TrajectoryId last);
Result<TrajectoryRow> trajectory_row(RunDatabase& db, TrajectoryId id);

/// The index entries of one trajectory's segments, by number.
Result<std::vector<SegmentRow>> segment_rows(RunDatabase& db, TrajectoryId id);
/// The end of the last indexed record.
Result<DurableEnd> indexed_end(RunDatabase& db);

Result<Task> stored_task(RunDatabase& db, const std::string& id, const std::string& content_hash);
Result<std::vector<VerdictRow>> verdict_rows(RunDatabase& db, TrajectoryId id);
/// True for the verdict that determines the outcome; a trajectory that submitted less than its best
/// has two final ones.
inline bool is_deciding(const VerdictRow& row, const Outcome& outcome) {
  return row.final && row.verdict.submission_hash == outcome.source_hash;
}

struct EventRow {
  std::string at, kind, actor, text;
};
/// The newest `limit` events, oldest first.
Result<std::vector<EventRow>> recent_events(RunDatabase& db, uint32_t limit);

/// The metrics of every step of the surviving lineage, in order; without those that were not
/// finite.
Result<std::vector<std::map<std::string, double>>> step_metrics(RunDatabase& db);

Result<uint32_t> durable_step_of(RunDatabase& db);
/// The newest step of the surviving lineage; the restored step if none came after it.
Result<uint32_t> last_step_of(RunDatabase& db);

/// The figures of one run; means are empty if no trajectory was closed.
struct RunSummary {
  uint64_t admitted = 0, trained = 0, in_flight = 0;
  uint64_t open = 0, closed = 0, stepped = 0;      // in flight, by phase
  std::map<std::string, uint64_t> dropped;         // reason → count
  std::map<std::string, std::string> dropped_why;  // reason → the newest one, in words
  bool learns = true;  // false: an evaluation or a collection, whose trajectories stay judged
  uint32_t last_step = 0, durable_step = 0, incarnations = 0;
  double wall_s = 0;                                // sum over all incarnations
  std::optional<double> reward_first, reward_last;  // mean of the first and last N by admission
  std::optional<double> pass_rate_last, fast_eager_last, fast_compile_last;  // of those last N
  uint64_t distinct_sources_last = 0;
  std::optional<double> median_tool_calls_last;
  uint64_t tokens = 0, action_tokens = 0;
  std::optional<double> memory_peak, memory_plan;  // bytes of the learner's GPU, most of all steps
  std::string started_at, last_started_at;         // of the first and the newest incarnation

  uint64_t dropped_total() const;
  bool is_conserved() const { return admitted == trained + dropped_total() + in_flight; }
};
/// `window` is the N above. All counts are read in one transaction.
Result<RunSummary> summarize(RunDatabase& db, uint32_t window = 128);

/// A part of a run's closed trajectories, in order of admission.
struct CurvePoint {
  double reward = 0;  // mean
  double passed = 0;  // share with a correct last verdict, from 0 to 1
};
/// At most `points` parts of equal size, oldest first; none if no trajectory was closed.
Result<std::vector<CurvePoint>> learning_curve(RunDatabase& db, uint32_t points);

}  // namespace warpsmith

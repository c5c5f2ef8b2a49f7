// SPDX-License-Identifier: Apache-2.0
// A run's database: one typed function per kind of record. Queries are in run_queries.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/policy_version.hpp"
#include "runtime/run/owned_folder.hpp"
#include "runtime/run/segment_file.hpp"
#include "runtime/run/sqlite.hpp"
#include "runtime/task.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith {

/// Raised with every change of the tables or of the records packed in them; a file of another
/// version is refused.
inline constexpr int64_t run_schema_version = 5;
/// "WARP": marks the file as a run database.
inline constexpr int64_t run_application_id = 0x57415250;

/// A segment's place and size in the index.
struct SegmentRow {
  TrajectoryId trajectory = 0;
  uint32_t number = 0;
  RecordPlace place;
  uint32_t tokens = 0;
  uint32_t action_tokens = 0;
};

/// One optimiser step: the version it made, and the trajectories whose gradients it contains.
struct StepRow {
  PolicyVersion version;
  std::vector<TrajectoryId> trajectories;
  std::map<std::string, double> metrics;  // non-finite values are stored as null
};

/// A verdict on one turn of a trajectory.
struct VerdictRow {
  TrajectoryId trajectory = 0;
  uint32_t turn = 0;
  bool final = false;
  Verdict verdict;
};

/// Uses a synchronous write-ahead log. SQLite reads such a log only where it may write next to it;
/// where it may not, a reader gets a copy of the database and its log in the folder for temporary
/// files. Outside begin … commit each call is a separate transaction; a call that returned (or
/// the commit after it) survives kill -9 and power loss. One owner.
class RunDatabase {
 public:
  static Result<RunDatabase> open(const std::filesystem::path& path,
                                  SqlAccess access = SqlAccess::read_write,
                                  std::chrono::milliseconds busy_timeout = std::chrono::seconds{5});

  /// Checks every page, at about a second per GB; `corrupt` quotes the first damage found.
  Result<void> check_integrity();

  Result<void> begin();
  Result<void> commit();
  void rollback();
  bool in_transaction() const { return connection_.in_transaction(); }

  /// Starts incarnation n + 1 from `restored_step` and returns its number; the first is 1. Marks
  /// steps and trainings after `restored_step` as rolled back and their trajectories as untrained.
  Result<uint32_t> begin_incarnation(uint32_t restored_step);
  /// Records how many seconds this incarnation has run so far.
  Result<void> set_wall_seconds(uint32_t incarnation, double seconds);

  /// Leaves a task that is already stored (same id and content) as it is.
  Result<void> put_task(const Task& task);
  Result<void> put_admission(TrajectoryId id, const Task& task, PolicyVersion version);
  Result<void> put_segment(const SegmentRow& row);
  Result<void> put_outcome(TrajectoryId id, const Outcome& outcome);
  Result<void> put_drop(TrajectoryId id, DropReason reason, const std::string& detail);
  Result<void> put_step(const StepRow& step);
  Result<void> set_durable_step(uint32_t step);
  /// Records whether this start of the run trains its trajectories.
  Result<void> set_learns(bool learns);
  Result<void> put_verdict(const VerdictRow& row);
  Result<void> put_event(const std::string& kind, const std::string& actor,
                         const std::string& text);

  SqlConnection& connection() { return connection_; }

 private:
  RunDatabase(std::shared_ptr<const OwnedFolder> copy, SqlConnection connection)
      : copy_(std::move(copy)), connection_(std::move(connection)) {}
  Result<void> change_one(std::string_view sql, const std::vector<SqlValue>& values,
                          TrajectoryId id);

  std::shared_ptr<const OwnedFolder> copy_;  // the folder of the copy being read; outlives it
  SqlConnection connection_;
};

}  // namespace warpsmith

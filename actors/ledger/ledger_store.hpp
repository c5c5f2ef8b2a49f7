// SPDX-License-Identifier: Apache-2.0
// The ledger on disk: keeps the conservation core, the run database and the segment files in step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/ledger/conservation.hpp"
#include "runtime/run/run_database.hpp"
#include "runtime/run/run_folder.hpp"
#include "runtime/run/segment_file.hpp"
#include "runtime/run/submission_folder.hpp"

namespace warpsmith::actors {

/// When a call's effect is durable, so that it may be answered.
enum class Durability : uint8_t {
  each_call,  // when the call returns: two syncs per call
  on_flush,   // when the next flush() succeeds: two syncs per group of calls
};

struct LedgerStoreOptions {
  Durability durability = Durability::each_call;
  SegmentLogOptions segments;
  std::chrono::milliseconds busy_timeout{5'000};
};

/// The trajectories that an incarnation starts with.
struct Resumption {
  uint32_t incarnation = 0;
  std::vector<TrajectoryId> open;    // to continue from their recorded segments (load)
  std::vector<TrajectoryId> closed;  // to send to the learner again (load)
  uint64_t returned = 0;             // those of `closed` that a lost step had used
};

/// One owner, one thread. With on_flush the owner handles a burst of requests, calls flush(), then
/// answers them all. A write that fails for a reason that may pass is repeated from memory. One
/// that fails for good (disk full) undoes the whole group: the state returns to what is durable,
/// the failed call or the next flush() returns the error, and later calls work again once there is
/// space. The failure itself is recorded as an event `write_failed`: on a full disk it gets the
/// room of the file `reserve`.
class LedgerStore {
 public:
  /// Opens or makes run.db and segments/ of a folder that the caller has locked. `corrupt` if the
  /// database is damaged; damaged segment files are not an error (see damage()).
  static Result<LedgerStore> open(const RunPaths& paths, LedgerStoreOptions options = {});

  /// Starts an incarnation from the checkpoint of `checkpoint_step` (0: none), at most
  /// last_step(). Durable on return. Called once, before the first admission.
  Result<Resumption> begin(uint32_t checkpoint_step);

  Result<TrajectoryId> admit(const Task& task, PolicyVersion version);
  /// `already` for a segment that is recorded with the same bytes, `already_exists` (an error) for
  /// one recorded with other bytes.
  Result<Change> append(const Segment& segment);
  Result<Change> close(TrajectoryId id, const Outcome& outcome);
  Result<Change> drop(TrajectoryId id, DropReason reason, const std::string& detail);
  /// Step `step.version` of this incarnation used these trajectories. Its checkpoint may be written
  /// only after the answer.
  Result<Change> mark_trained(const StepRow& step);
  Result<Change> checkpointed(uint32_t step);
  /// Also stores the judged files, once per `submission_hash`, before the verdict that names them.
  Result<void> record_verdict(const VerdictRow& row, const FileSet& files);
  Result<void> record_event(const std::string& kind, const std::string& actor,
                            const std::string& text);
  /// See RunDatabase::set_learns.
  Result<void> record_learns(bool learns);
  /// Sets the running time of this incarnation.
  Result<void> record_wall_seconds(double seconds);

  /// Makes the group durable; does nothing without one. After an error the whole group is undone,
  /// and each of its requests must be answered with that error.
  Result<void> flush();
  /// True while answers wait for a flush.
  bool pending() const { return pending_ > 0 || lost_group_.has_value(); }

  /// The whole trajectory, read back from its segment records; an open one has an empty outcome.
  /// `corrupt` if a record does not match its checksum: the caller then drops the trajectory.
  Result<Trajectory> load(TrajectoryId id);
  Result<Task> task_of(TrajectoryId id);

  const ConservationCounts& counts() const { return core_.counts(); }
  const Conservation& core() const { return core_; }
  uint32_t incarnation() const { return incarnation_; }
  uint32_t last_step() const { return core_.last_step(); }
  /// Step of the newest durable checkpoint; 0: none.
  uint32_t durable_step() const { return core_.durable_step(); }
  RunDatabase& database() { return db_; }
  /// Damage found in the segment files when they were opened; empty if none.
  const std::string& damage() const { return log_.damage(); }

 private:
  LedgerStore(const RunPaths& paths, RunDatabase db, SegmentLog log, Conservation core,
              LedgerStoreOptions options)
      : paths_(paths),
        db_(std::move(db)),
        log_(std::move(log)),
        submissions_(paths.submissions()),
        core_(std::move(core)),
        options_(options) {}
  /// Writes rows of one call; holds all that it needs, because it may be called again.
  using Recording = std::function<Result<void>(RunDatabase&)>;
  Result<void> ready() const;
  /// Runs `write` inside the group's transaction; undoes the group if it fails.
  Result<void> record(Recording write);
  Result<Change> record_change(Recording write);
  /// Writes the rows of the whole group in a new transaction.
  Result<void> write_group();
  tl::unexpected<Error> abandon(Error error);
  void note_failure(const Error& error);
  Result<Change> check_repeat(const Segment& segment, uint64_t checksum);

  RunPaths paths_;
  RunDatabase db_;
  SegmentLog log_;
  SubmissionFolder submissions_;
  Conservation core_;
  LedgerStoreOptions options_;
  uint32_t incarnation_ = 0;
  std::vector<Recording> group_;     // of the calls in the open group
  uint64_t pending_ = 0;             // calls in the open group
  bool noted_ = false;               // the last failure is an event already
  std::optional<Error> lost_group_;  // the next flush returns it for the undone group
  std::optional<Error> broken_;      // the state could not be read back: every call returns this
};

/// The conservation core, read from a database.
Result<Conservation> load_conservation(RunDatabase& db);

}  // namespace warpsmith::actors

// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/ledger_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "runtime/bytes.hpp"
#include "runtime/codec.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_queries.hpp"
#include "runtime/run/trajectory_reader.hpp"

namespace warpsmith::actors {
namespace {

LedgerEntry entry_of(const TrajectoryRow& row, uint32_t durable_step) {
  LedgerEntry entry;
  entry.segments = row.segments;
  if (row.drop_reason) {
    entry.phase = TrajectoryPhase::dropped;
    entry.reason = *row.drop_reason;
  } else if (row.trained_step) {
    entry.step = *row.trained_step;
    entry.phase = entry.step <= durable_step ? TrajectoryPhase::trained : TrajectoryPhase::stepped;
  } else if (row.outcome) {
    entry.phase = TrajectoryPhase::closed;
  }
  return entry;
}

uint32_t actions_in(const Segment& segment) {
  return static_cast<uint32_t>(std::count_if(segment.action_mask.begin(), segment.action_mask.end(),
                                             [](uint8_t mask) { return mask != 0; }));
}

std::string_view view(const ByteBuffer& bytes) {
  return {bytes.data(), bytes.size()};
}

/// Room for the event that says that the disk is full.
Result<void> make_reserve(const std::filesystem::path& path) {
  constexpr size_t bytes = 128 << 10U;
  std::error_code error;
  if (std::filesystem::file_size(path, error) == bytes && !error) return {};
  return write_file_whole(path, std::string(bytes, '\0'));
}

}  // namespace

Result<Conservation> load_conservation(RunDatabase& db) {
  TRY(const auto durable, durable_step_of(db));
  TRY(const auto last, last_step_of(db));
  std::vector<LedgerEntry> entries;
  constexpr TrajectoryId batch = 4096;
  for (TrajectoryId first = 1;; first += batch) {
    TRY(const auto rows, trajectory_rows(db, first, first + batch - 1));
    for (const TrajectoryRow& row : rows) {
      if (row.id != entries.size() + 1) {
        return fail(ErrorCode::corrupt,
                    fmt::format("run.db: trajectory {} is missing", entries.size() + 1));
      }
      entries.push_back(entry_of(row, durable));
    }
    if (rows.size() < batch) return Conservation{std::move(entries), durable, last};
  }
}

Result<LedgerStore> LedgerStore::open(const RunPaths& paths, LedgerStoreOptions options) {
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_write, options.busy_timeout));
  TRY_VOID(db.check_integrity());
  TRY(const auto end, indexed_end(db));
  options.segments.durable = end;
  TRY(auto log, SegmentLog::open(paths.segments(), options.segments));
  TRY(auto core, load_conservation(db));
  TRY_VOID(make_reserve(paths.reserve()));
  return LedgerStore{paths, std::move(db), std::move(log), std::move(core), options};
}

Result<void> LedgerStore::ready() const {
  if (broken_) return tl::unexpected(*broken_);
  if (lost_group_) return tl::unexpected(*lost_group_);
  if (incarnation_ != 0) return {};
  return fail(ErrorCode::invalid_argument, "ledger: begin() must come before any other call");
}

void LedgerStore::note_failure(const Error& error) {
  const bool of_disk = error.code == ErrorCode::disk_full || error.code == ErrorCode::io_failed;
  if (!of_disk || broken_ || std::exchange(noted_, true)) return;
  std::error_code ignored;
  std::filesystem::remove(paths_.reserve(), ignored);
  const auto noted = repeated([&]() -> Result<void> {
    auto written = db_.begin();
    if (written) written = db_.put_event("write_failed", "ledger", error.message);
    if (written) written = db_.commit();
    if (written) return written;
    db_.rollback();
    return fail(ErrorCode::io_failed, written.error().message);  // others may make room: again
  });
  if (noted) return;
  log::warn("ledger: the event write_failed is not recorded: " + noted.error().message);
}

tl::unexpected<Error> LedgerStore::abandon(Error error) {
  db_.rollback();
  group_.clear();
  auto undone = log_.discard_unsynced();
  auto core = load_conservation(db_);
  if (core && undone) {
    core_ = std::move(*core);
  } else {
    broken_ = core ? undone.error() : core.error();
    broken_->message = "ledger: cannot return to the durable state: " + broken_->message;
  }
  note_failure(error);
  if (pending_ > 0) lost_group_ = error;
  pending_ = 0;
  return tl::unexpected(std::move(error));
}

Result<void> LedgerStore::write_group() {
  db_.rollback();
  TRY_VOID(db_.begin());
  for (const Recording& write : group_) TRY_VOID(write(db_));
  return {};
}

Result<void> LedgerStore::record(Recording write) {
  group_.push_back(std::move(write));
  bool again = false;
  const auto recorded = repeated([&]() -> Result<void> {
    if (std::exchange(again, true) || !db_.in_transaction()) return write_group();
    return group_.back()(db_);
  });
  if (!recorded) return abandon(recorded.error());
  ++pending_;
  return options_.durability == Durability::each_call ? flush() : Result<void>{};
}

Result<Change> LedgerStore::record_change(Recording write) {
  return record(std::move(write)).map([] { return Change::made; });
}

Result<void> LedgerStore::flush() {
  if (lost_group_) {
    Error why = std::move(*lost_group_);
    lost_group_.reset();
    return tl::unexpected(std::move(why));
  }
  if (pending_ == 0) return {};
  pending_ = 0;  // this result answers the whole group
  auto durable = log_.sync();
  bool again = false;
  if (durable) {
    durable = repeated([&]() -> Result<void> {
      if (std::exchange(again, true)) TRY_VOID(write_group());
      return db_.commit();
    });
  }
  if (!durable) return abandon(std::move(durable.error()));
  group_.clear();
  noted_ = false;
  return {};
}

Result<Resumption> LedgerStore::begin(uint32_t checkpoint_step) {
  if (incarnation_ != 0) {
    return fail(ErrorCode::invalid_argument, "ledger: begin() was called twice");
  }
  TRY(const auto returned, core_.restore(checkpoint_step));
  if (auto begun = db_.begin(); !begun) return abandon(begun.error());
  const auto incarnation = db_.begin_incarnation(checkpoint_step);
  if (!incarnation) return abandon(incarnation.error());
  if (auto committed = db_.commit(); !committed) return abandon(committed.error());
  incarnation_ = *incarnation;
  return Resumption{incarnation_, core_.in_phase(TrajectoryPhase::open),
                    core_.in_phase(TrajectoryPhase::closed), returned};
}

Result<TrajectoryId> LedgerStore::admit(const Task& task, PolicyVersion version) {
  TRY_VOID(ready());
  const TrajectoryId id = core_.admit();
  const auto admitted = record([id, task, version](RunDatabase& db) {
    auto known = db.put_task(task);
    return known ? db.put_admission(id, task, version) : known;
  });
  return admitted.map([id] { return id; });
}

Result<Change> LedgerStore::check_repeat(const Segment& segment, uint64_t checksum) {
  TRY(const auto rows, segment_rows(db_, segment.trajectory));
  if (segment.number < rows.size() && rows[segment.number].place.checksum == checksum) {
    return Change::already;
  }
  return fail(ErrorCode::already_exists,
              fmt::format("append: trajectory {} segment {} is recorded with other bytes",
                          segment.trajectory, segment.number));
}

Result<Change> LedgerStore::append(const Segment& segment) {
  TRY_VOID(ready());
  TRY_VOID(segment.validate());
  TRY(auto change, core_.append(segment.trajectory, segment.number));
  const ByteBuffer payload = codec::pack(segment);
  if (change == Change::already) return check_repeat(segment, checksum64(view(payload)));
  const auto place = log_.append(view(payload));
  if (!place) return abandon(place.error());
  const SegmentRow row{.trajectory = segment.trajectory,
                       .number = segment.number,
                       .place = *place,
                       .tokens = static_cast<uint32_t>(segment.size()),
                       .action_tokens = actions_in(segment)};
  return record_change([row](RunDatabase& db) { return db.put_segment(row); });
}

Result<Change> LedgerStore::close(TrajectoryId id, const Outcome& outcome) {
  TRY_VOID(ready());
  if (!std::isfinite(outcome.reward)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("close: trajectory {} has a reward that is not finite", id));
  }
  auto change = core_.close(id);
  if (!change || *change == Change::already) return change;
  return record_change([=](RunDatabase& db) { return db.put_outcome(id, outcome); });
}

Result<Change> LedgerStore::drop(TrajectoryId id, DropReason reason, const std::string& detail) {
  TRY_VOID(ready());
  auto change = core_.drop(id, reason);
  if (!change || *change == Change::already) return change;
  return record_change([=](RunDatabase& db) { return db.put_drop(id, reason, detail); });
}

Result<Change> LedgerStore::mark_trained(const StepRow& step) {
  TRY_VOID(ready());
  if (step.version.incarnation != incarnation_) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("train: step {} is of incarnation {}, the run is in {}",
                            step.version.step, step.version.incarnation, incarnation_));
  }
  auto change = core_.train(step.version.step, step.trajectories);
  if (!change || *change == Change::already) return change;
  return record_change([=](RunDatabase& db) { return db.put_step(step); });
}

Result<Change> LedgerStore::checkpointed(uint32_t step) {
  TRY_VOID(ready());
  auto change = core_.checkpointed(step);
  if (!change || *change == Change::already) return change;
  return record_change([=](RunDatabase& db) { return db.set_durable_step(step); });
}

Result<void> LedgerStore::record_verdict(const VerdictRow& row, const FileSet& files) {
  TRY_VOID(ready());
  TRY_VOID(repeated([&] { return submissions_.keep(row.verdict.submission_hash, files); }));
  return record([=](RunDatabase& db) { return db.put_verdict(row); });
}

Result<void> LedgerStore::record_event(const std::string& kind, const std::string& actor,
                                       const std::string& text) {
  TRY_VOID(ready());
  return record([=](RunDatabase& db) { return db.put_event(kind, actor, text); });
}

Result<void> LedgerStore::record_wall_seconds(double seconds) {
  TRY_VOID(ready());
  return record(
      [seconds, now = incarnation_](RunDatabase& db) { return db.set_wall_seconds(now, seconds); });
}

Result<void> LedgerStore::record_learns(bool learns) {
  TRY_VOID(ready());
  return record([=](RunDatabase& db) { return db.set_learns(learns); });
}

Result<Trajectory> LedgerStore::load(TrajectoryId id) {
  return read_trajectory(db_, id, [this](const RecordPlace& place) { return log_.read(place); });
}

Result<Task> LedgerStore::task_of(TrajectoryId id) {
  TRY(const auto row, trajectory_row(db_, id));
  return stored_task(db_, row.task_id, row.task_hash);
}

}  // namespace warpsmith::actors

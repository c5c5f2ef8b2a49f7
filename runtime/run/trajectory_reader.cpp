// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/trajectory_reader.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "runtime/codec.hpp"

namespace warpsmith {

Result<Trajectory> read_trajectory(RunDatabase& db, TrajectoryId id, const RecordReader& read) {
  TRY(auto row, trajectory_row(db, id));
  TRY(const auto places, segment_rows(db, id));
  Trajectory trajectory{id, row.task_id, {}, row.outcome.value_or(Outcome{})};
  for (const SegmentRow& place : places) {
    TRY(const auto bytes, read(place.place));
    auto segment = codec::unpack<Segment>(bytes);
    if (!segment) return fail(ErrorCode::corrupt, segment.error().message);
    if (segment->trajectory != id || segment->number != place.number) {
      return fail(
          ErrorCode::corrupt,
          fmt::format("run.db: the record of trajectory {} segment {} contains another segment", id,
                      place.number));
    }
    trajectory.segments.push_back(std::move(*segment));
  }
  return trajectory;
}

Result<TrajectoryReader> TrajectoryReader::open(const RunPaths& paths) {
  std::error_code ignored;
  if (!std::filesystem::exists(paths.database(), ignored)) {
    const bool chain = std::filesystem::exists(paths.folder / "stages", ignored);
    return fail(ErrorCode::not_found,
                paths.folder.string() +
                    (chain ? ": a chain of stages; name one that samples, like stages/3-collect"
                           : ": no run with trajectories: run.db is missing"));
  }
  auto db = RunDatabase::open(paths.database(), SqlAccess::read_only);
  if (!db) return fail(paths.folder.string(), db.error());
  return TrajectoryReader{paths, std::move(*db)};
}

Result<std::vector<TrajectoryRow>> TrajectoryReader::closed() {
  auto rows = trajectory_rows(db_, 1, std::numeric_limits<int64_t>::max());
  if (!rows) return fail(paths_.folder.string(), rows.error());
  std::erase_if(*rows, [](const TrajectoryRow& row) { return !row.outcome.has_value(); });
  return rows;
}

Result<Trajectory> TrajectoryReader::load(TrajectoryId id) {
  const auto read = [this](const RecordPlace& place) {
    return read_record(paths_.segments(), place);
  };
  auto trajectory = read_trajectory(db_, id, read);
  if (!trajectory) return fail(paths_.folder.string(), trajectory.error());
  return trajectory;
}

Result<std::vector<VerdictRow>> TrajectoryReader::verdicts(TrajectoryId id) {
  return verdict_rows(db_, id);
}

}  // namespace warpsmith

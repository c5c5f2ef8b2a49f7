// SPDX-License-Identifier: Apache-2.0
// Reads the trajectories of a run, finished or in progress, without disturbing its owner.
#pragma once

#include <functional>
#include <vector>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith {

/// Returns the payload of a segment record.
using RecordReader = std::function<Result<ByteBuffer>(const RecordPlace&)>;

/// The whole trajectory, from its segment records; an open one has an empty outcome. `corrupt` if a
/// record does not match its checksum.
Result<Trajectory> read_trajectory(RunDatabase& db, TrajectoryId id, const RecordReader& read);

class TrajectoryReader {
 public:
  /// `not_found` if the run has no database: it has no trajectories.
  static Result<TrajectoryReader> open(const RunPaths& paths);

  const RunPaths& paths() const { return paths_; }
  /// The trajectories with an outcome, in order of admission.
  Result<std::vector<TrajectoryRow>> closed();
  Result<Trajectory> load(TrajectoryId id);
  /// In order of recording.
  Result<std::vector<VerdictRow>> verdicts(TrajectoryId id);

 private:
  TrajectoryReader(RunPaths paths, RunDatabase db) : paths_(std::move(paths)), db_(std::move(db)) {}

  RunPaths paths_;
  RunDatabase db_;
};

}  // namespace warpsmith

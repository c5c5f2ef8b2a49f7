// SPDX-License-Identifier: Apache-2.0
// A folder of recorded solutions in place of an endpoint.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"
#include "runtime/segment.hpp"

namespace warpsmith::actors {

/// The task of a trajectory and its sample of that task; `index` counts from 0, in order of
/// admission. The index of a trajectory that was dropped before a resume is used again by a later
/// one.
struct SamplePlace {
  std::string task_id;
  uint64_t index = 0;
};

/// Read from the run's database, which records every admission before its first token is requested,
/// so a resume continues with the same places.
Result<SamplePlace> place_of(const RunPaths& run, TrajectoryId id);

/// The answer with the files of a task's candidate, each in a fenced block: those of DIR/TASK/1/,
/// DIR/TASK/2/ … for index 0, 1 …, or of DIR/TASK/ itself if it has no numbered folders.
/// `not_found` if there is no such candidate; nothing wraps around.
Result<std::string> candidate_answer(const std::filesystem::path& folder, const SamplePlace& place);

}  // namespace warpsmith::actors

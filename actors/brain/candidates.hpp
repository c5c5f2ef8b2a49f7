// SPDX-License-Identifier: Apache-2.0
// A folder of recorded solutions in place of an endpoint.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"
#include "runtime/segment.hpp"

namespace warpsmith::actors {

/// Which sample of which task a trajectory is; `index` counts from 0, in order of admission. A
/// trajectory that was dropped before a resume leaves its index to one that follows.
struct SamplePlace {
  std::string task_id;
  uint64_t index = 0;
};

/// From the run's database, which has every admission before its first token is asked for; so a
/// resume goes on with the same places.
Result<SamplePlace> place_of(const RunPaths& run, TrajectoryId id);

/// The answer that holds the files of a task's candidate, each in a fenced block: those of
/// DIR/TASK/1/, DIR/TASK/2/ … for index 0, 1 …, or of DIR/TASK/ itself if it has no numbered
/// folders. `not_found` if there is no such candidate; nothing wraps around.
Result<std::string> candidate_answer(const std::filesystem::path& folder, const SamplePlace& place);

}  // namespace warpsmith::actors

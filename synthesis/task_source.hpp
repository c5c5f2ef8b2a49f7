// SPDX-License-Identifier: Apache-2.0
// Reads tasks from files and folders in KernelBench's format. Only their shape is checked here; the
// reference worker runs them, in a jail, at ingest. A line `DEVICE = "cuda"` at the top level says
// that a task is for a GPU; without one it is for a CPU, or for whatever a contract runs on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"

namespace warpsmith::synthesis {

inline constexpr uintmax_t max_task_bytes = 1U << 20U;

/// One file. `parse_failed` names the file and which of Model, get_inputs, get_init_inputs is
/// missing, that DEVICE or LANE names none, or the line of an odd option (task_options.hpp);
/// `not_found` and `io_failed` name the file.
Result<Task> load_task(const std::filesystem::path& file);

/// What `DEVICE = "…"` names at the top level of a task's text. `parse_failed` if it is no device.
Result<std::optional<DeviceClass>> named_device(const std::string& code);

/// What `LANE = "…"` names there; strict where it is not named. `parse_failed` if it is no lane.
Result<PrecisionLane> named_lane(const std::string& code);

/// A file that holds no task, or none of its own, and why.
struct RefusedFile {
  std::filesystem::path file;
  Error why;
};

struct FoundTasks {
  std::vector<Task> tasks;
  std::vector<RefusedFile> refused;
};

/// As `load_tasks`, with files that it would end at listed apart. Only a place that cannot be read
/// is an error.
Result<FoundTasks> find_tasks(const std::vector<std::filesystem::path>& places);

/// Files, and every *.py beneath folders, in the order of their paths. An id is the file's stem; a
/// second file of that name gets its folder in front. Equal contents are an error that names both.
Result<std::vector<Task>> load_tasks(const std::vector<std::filesystem::path>& places);

}  // namespace warpsmith::synthesis

// SPDX-License-Identifier: Apache-2.0
// Reads tasks from files and folders: in KernelBench's format, and in others, which are rewritten
// to it (task_formats.hpp). Only their form is checked here; the reference worker runs them at
// ingest, in a jail. The line `DEVICE = "cuda"` at the top level marks a task for GPUs. Without
// such a line it is for a CPU; contract `host` may choose a GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "synthesis/task_formats.hpp"

namespace warpsmith::synthesis {

/// The task in one file, or the one workload that FILE#NUMBER names. Every error names the file.
/// `parse_failed`: no known format, DEVICE or LANE has an unknown value, or an option is invalid
/// (with its line; task_options.hpp). `not_found`, `io_failed`: the file cannot be read.
Result<Task> load_task(const std::filesystem::path& file);

/// The device that `DEVICE = "…"` names at the top level of a task's text, if there is such a line.
/// `parse_failed` for an unknown one.
Result<std::optional<DeviceClass>> named_device(const std::string& code);

/// The lane that `LANE = "…"` names there, strict by default. `parse_failed` for an unknown one.
Result<PrecisionLane> named_lane(const std::string& code);

/// A file that contains no task or repeats another one, with the reason.
struct RefusedFile {
  std::filesystem::path file;
  Error why;
};

struct FoundTasks {
  std::vector<Task> tasks;
  std::vector<RefusedFile> refused;
};

/// Like `load_tasks`, but lists files that would be errors there as refused. Only a place that
/// cannot be read is an error.
Result<FoundTasks> find_tasks(const std::vector<std::filesystem::path>& places);

/// The tasks in files, and in every *.py and definition beneath folders, in the order of their
/// paths. An id is the file's stem or its folder's name (`named_path`); a second one gets the name
/// of the folder above as prefix. Equal contents are an error that names both files.
Result<std::vector<Task>> load_tasks(const std::vector<std::filesystem::path>& places);

}  // namespace warpsmith::synthesis

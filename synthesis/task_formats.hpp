// SPDX-License-Identifier: Apache-2.0
// Suites of other formats: each task is rewritten as one text in KernelBench's form, by a footer
// below the file's own text, so that everything behind it sees tasks of one form. Equal files give
// equal texts. The formats are in docs/suites.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::synthesis {

inline constexpr uintmax_t max_task_bytes = 1U << 20U;

/// How many shapes a rewritten task declares: `get_inputs`, then `get_inputs_2` and so on.
inline constexpr size_t most_shapes = 8;

/// A rewritten task: the format's name, and the text.
struct TaskText {
  std::string format, text;
};

/// Reads the task at a place: a file, or FILE#NUMBER for one workload of a definition. `not_found`,
/// `io_failed`: it cannot be read. `parse_failed`: no known format, or a file next to it is broken;
/// then the message names both. Every message begins with the file or place.
Result<TaskText> read_task_text(const std::filesystem::path& place);

/// The file of a place.
std::filesystem::path file_of(const std::filesystem::path& place);

/// The path without ending that names the task: that of the file, or of its folder where all tasks'
/// files have one name (reference.py, func_forward.py).
std::filesystem::path named_path(const std::filesystem::path& place);

/// The places of a file that a folder contains: none if it is no task's by its name, otherwise the
/// file, or one place for each workload of a definition.
std::vector<std::filesystem::path> places_in(const std::filesystem::path& file);

}  // namespace warpsmith::synthesis

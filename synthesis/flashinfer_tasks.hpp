// SPDX-License-Identifier: Apache-2.0
// Tasks of flashinfer-bench: a definition (definitions/KIND/NAME.json) names axes, inputs, outputs
// and a reference in Python; each line of workloads/KIND/NAME.jsonl gives the variable axes values
// and says where the inputs come from. Read are inputs that are drawn and numbers; a workload with
// tensors of files is left out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "synthesis/task_formats.hpp"

namespace warpsmith::synthesis {

/// True for a *.json beneath a folder named `definitions`.
bool is_definition(const std::filesystem::path& file);

/// FILE#NUMBER for each workload that a folder's evaluation judges: the first `most_shapes` of
/// different inputs. The file itself if it cannot be read; then `flashinfer_task` says why.
std::vector<std::filesystem::path> workloads_of(const std::filesystem::path& file);

/// The task of one workload, counted from 1. With 0, of the first one that can be read; the next
/// ones are its declared shapes. `text` is the file's content. `parse_failed`: the definition or
/// its workloads are malformed. `not_found`: no such workload. `unsupported`: none can be read.
Result<TaskText> flashinfer_task(const std::filesystem::path& file, const std::string& text,
                                 size_t number);

}  // namespace warpsmith::synthesis

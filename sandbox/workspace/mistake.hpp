// SPDX-License-Identifier: Apache-2.0
// A wrong variant of a solution, written as the edits that make it wrong.
#pragma once

#include <filesystem>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// Applies a file such as {"mistake": "the scores are not scaled", "edits": {"plan.toml":
/// [{"old_string": "alpha = 0.5", "new_string": ""}]}}. The error names the file and what is wrong.
Result<FileSet> with_mistake(FileSet files, const std::filesystem::path& mistake);

}  // namespace warpsmith::sandbox

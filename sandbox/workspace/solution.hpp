// SPDX-License-Identifier: Apache-2.0
// The files of a solution: frozen from a workspace or a folder, or made wrong by a mistake file.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/safe_folder.hpp"

namespace warpsmith::sandbox {

struct SolutionLimits {
  size_t files = 16;
  size_t bytes = static_cast<size_t>(SandboxSettings{}.source_bytes);  // total of all files
};

/// Regular files beneath solution/, with names relative to it. `not_found` if `required` is
/// missing, or if it is empty and there is no file.
Result<FileSet> freeze_solution(const SafeFolder& workspace, const std::string& required,
                                SolutionLimits limits);

/// The same for a folder that is itself the solution.
Result<FileSet> freeze_folder(const SafeFolder& folder, const std::string& required,
                              SolutionLimits limits);

/// A wrong variant of a solution. Applies a file such as {"mistake": "the scores are not scaled",
/// "edits": {"plan.toml":
/// [{"old_string": "alpha = 0.5", "new_string": ""}]}}. The error names the file and what is wrong.
Result<FileSet> with_mistake(FileSet files, const std::filesystem::path& mistake);

}  // namespace warpsmith::sandbox

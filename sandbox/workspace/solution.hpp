// SPDX-License-Identifier: Apache-2.0
// The submission: what stands in solution/ at the moment it is frozen.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/safe_folder.hpp"

namespace warpsmith::sandbox {

struct SolutionLimits {
  size_t files = 16;
  size_t bytes = 256U << 10U;  // all files together
};

/// Regular files beneath solution/, names relative to it. `not_found` while `required` is missing,
/// or, where that is empty, while there is no file at all.
Result<FileSet> freeze_solution(const SafeFolder& workspace, const std::string& required,
                                SolutionLimits limits);

/// The same for a folder that holds the solution itself.
Result<FileSet> freeze_folder(const SafeFolder& folder, const std::string& required,
                              SolutionLimits limits);

/// SHA-256 over names and contents: equal for equal sources, whatever the task.
std::string source_hash(const FileSet& files);

}  // namespace warpsmith::sandbox

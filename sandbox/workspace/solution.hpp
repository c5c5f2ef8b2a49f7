// SPDX-License-Identifier: Apache-2.0
// The submission: the contents of solution/ when it is frozen.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/workspace/safe_folder.hpp"

namespace warpsmith::sandbox {

struct SolutionLimits {
  size_t files = 16;
  size_t bytes = 256U << 10U;  // total of all files
};

/// Regular files beneath solution/, with names relative to it. `not_found` if `required` is
/// missing, or, where that is empty, if there is no file.
Result<FileSet> freeze_solution(const SafeFolder& workspace, const std::string& required,
                                SolutionLimits limits);

/// The same for a folder that is itself the solution.
Result<FileSet> freeze_folder(const SafeFolder& folder, const std::string& required,
                              SolutionLimits limits);

}  // namespace warpsmith::sandbox

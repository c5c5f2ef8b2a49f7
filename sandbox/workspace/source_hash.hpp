// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// SHA-256 over names and contents; independent of the task.
std::string source_hash(const FileSet& files);

}  // namespace warpsmith::sandbox

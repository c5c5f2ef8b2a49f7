// SPDX-License-Identifier: Apache-2.0
// The headers that a CUDA source begins with. Pure.
#pragma once

#include <string>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// The includes in angle brackets at the top of `main`, where only comments may stand between them,
/// as lines "#include <NAME>\n"; at most 16. Empty if there is none, if other files are submitted
/// (an include may name one), and if a backslash joins one of these lines to the next.
std::string leading_headers(const FileSet& files, const std::string& main);

}  // namespace warpsmith::sandbox

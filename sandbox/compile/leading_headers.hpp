// SPDX-License-Identifier: Apache-2.0
// Which headers of the toolkit a CUDA source begins with. Pure.
#pragma once

#include <string>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// The includes in angle brackets that stand before anything else but comments in `main`, a line
/// "#include <NAME>\n" each, in their order; at most 16. Empty where there is none, where other
/// files are submitted, one of which might be meant, and where a line up to the last is joined to
/// the next.
std::string leading_headers(const FileSet& files, const std::string& main);

}  // namespace warpsmith::sandbox

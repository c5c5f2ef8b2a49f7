// SPDX-License-Identifier: Apache-2.0
// What a run composed, in words.
#pragma once

#include <string>

#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {

/// The run's funnel on one line, or why it cannot be read; empty for a run that composed nothing.
std::string composed_text(const RunPaths& run);

}  // namespace warpsmith::commands

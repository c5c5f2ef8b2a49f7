// SPDX-License-Identifier: Apache-2.0
// Handles standard output that cannot be written: a full disk, a closed descriptor.
#pragma once

#include <iosfwd>

#include "commands/command.hpp"

namespace warpsmith::commands {

/// Opens /dev/null for each standard stream that the caller closed. Otherwise the first files that
/// the program opens would get these numbers, and its output.
void reserve_standard_streams();

/// Flushes `out` and returns `code`; if that fails, reports it and turns `success` into
/// `infrastructure`.
ExitCode flush_output(ExitCode code, std::ostream& out);

}  // namespace warpsmith::commands

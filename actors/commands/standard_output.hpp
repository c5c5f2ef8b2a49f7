// SPDX-License-Identifier: Apache-2.0
// Standard output that cannot be written: a full disk, a closed descriptor.
#pragma once

#include <iosfwd>

#include "actors/commands/command.hpp"

namespace warpsmith::actors {

/// Takes the numbers of standard streams that the caller closed, or the first files that are
/// opened would get them, and what is printed. Nothing can be written there.
void hold_standard_streams();

/// Writes out what `out` still holds: `infrastructure`, with a message, where a success could not
/// be told in full; other codes stay.
ExitCode after_output(ExitCode code, std::ostream& out);

}  // namespace warpsmith::actors

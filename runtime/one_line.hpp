// SPDX-License-Identifier: Apache-2.0
// Words of others within a line of ours.
#pragma once

#include <string>

namespace warpsmith {

/// Ends of lines as \n and \r, in letters: no name may write lines of its own into a report. Pure.
std::string one_line(std::string text);

}  // namespace warpsmith

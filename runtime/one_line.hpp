// SPDX-License-Identifier: Apache-2.0
// Text from outside, made safe to quote within a line of a report.
#pragma once

#include <string>

namespace warpsmith {

/// Replaces line ends by the letters \n and \r, so that no name adds lines to a report. Pure.
std::string one_line(std::string text);

}  // namespace warpsmith

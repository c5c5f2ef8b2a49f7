// SPDX-License-Identifier: Apache-2.0
// The difference of two texts, line by line. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::commands {

/// Every line of both texts: "-" before those of `from` alone, "+" before those of `to` alone, a
/// blank before common ones. Texts whose product of lines exceeds 4 million are shown in full, one
/// after the other: the table would take too much memory.
std::string line_diff(std::string_view from, std::string_view to);

}  // namespace warpsmith::commands

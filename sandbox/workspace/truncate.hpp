// SPDX-License-Identifier: Apache-2.0
// Cuts long tool results in the middle, because head and tail matter most.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::sandbox {

/// Returns `text` if it has at most `max_bytes`. Otherwise its head and tail, cut between
/// characters (between lines where one ends nearby), around a line with the number of bytes left
/// out. The result is at most `max_bytes` plus that line.
std::string truncate_result(std::string_view text, size_t max_bytes);

}  // namespace warpsmith::sandbox

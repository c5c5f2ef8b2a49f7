// SPDX-License-Identifier: Apache-2.0
// Long tool results are cut in the middle: head and tail say most. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::sandbox {

/// `text` if it has at most `max_bytes`; else its head and tail at characters' boundaries (line
/// boundaries where near) around one line that says how many bytes are left out. Never longer than
/// `max_bytes` plus that line.
std::string truncate_result(std::string_view text, size_t max_bytes);

}  // namespace warpsmith::sandbox

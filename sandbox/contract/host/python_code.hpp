// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::sandbox {

/// A Python file with spaces in place of its comments and strings, so that a search for words finds
/// code alone, in the same lines and columns. Expressions in the braces of an f-string count as
/// text. Pure.
std::string python_code(std::string_view text);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::sandbox {

/// A Python file with spaces in place of its comments and of what its strings hold: whoever looks
/// for words finds code alone, in the same lines and columns. What stands in the braces of an
/// f-string counts as text. Pure.
std::string python_code(std::string_view text);

}  // namespace warpsmith::sandbox

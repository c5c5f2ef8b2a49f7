// SPDX-License-Identifier: Apache-2.0
// Text within an HTML page. Pure.
#pragma once

#include <string>
#include <string_view>

namespace warpsmith::commands {

/// Text with the five characters that HTML reserves escaped.
std::string escaped(std::string_view text);

}  // namespace warpsmith::commands

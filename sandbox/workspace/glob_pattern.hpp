// SPDX-License-Identifier: Apache-2.0
// File name patterns: `*` and `?` within a name, `**` across folders. Pure; never exponential.
#pragma once

#include <string_view>

namespace warpsmith::sandbox {

/// Does the relative `path` match `pattern`? A pattern without a slash is matched against the name
/// in any folder.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace warpsmith::sandbox

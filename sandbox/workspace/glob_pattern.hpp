// SPDX-License-Identifier: Apache-2.0
// File name patterns: `*` and `?` within a name, `**` across folders. Never exponential.
#pragma once

#include <string_view>

namespace warpsmith::sandbox {

/// Whether the relative `path` matches `pattern`. A pattern without a slash matches names in any
/// folder.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace warpsmith::sandbox

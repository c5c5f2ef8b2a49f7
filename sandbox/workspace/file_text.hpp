// SPDX-License-Identifier: Apache-2.0
// The pure part of the file tools: edits of a text by exact match, line counts, and file name
// patterns.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// `old_string` must occur exactly once, unless `replace_all` is set.
struct TextEdit {
  std::string old_string;
  std::string new_string;
  bool replace_all = false;
};

struct EditedText {
  std::string text;
  size_t replacements = 0;
};

inline constexpr size_t max_edits = 64;

/// Applies the edits in order, each to the result of the previous one; all or none. The result must
/// not exceed `max_bytes`.
Result<EditedText> apply_edits(std::string text, std::span<const TextEdit> edits, size_t max_bytes);

/// Parses the edits of a `multi_edit` call: a JSON array of objects with "old_string", "new_string"
/// and optionally "replace_all".
Result<std::vector<TextEdit>> parse_edits(std::string_view json);

/// Counts lines as editors do: a last line without a newline counts too.
size_t line_count(std::string_view text);

/// Whether the relative `path` matches `pattern`: `*` and `?` within a name, `**` across folders. A
/// pattern without a slash matches names in any folder. Never exponential.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace warpsmith::sandbox

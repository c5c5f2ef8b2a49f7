// SPDX-License-Identifier: Apache-2.0
// Python texts as tokens, not as grammar, for programs that read them where no Python runs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::sandbox {

enum class PythonKind : uint8_t { name, string, other };

/// A word, a string, or an operator such as `(` or `+=`. Comments are no tokens.
struct PythonToken {
  PythonKind kind = PythonKind::other;
  std::string_view text;  // of a string: with its prefix and quotes
  int depth = 0;          // brackets around it; of a bracket: around the pair
  bool member = false;    // a name that follows a dot

  bool is(std::string_view wanted) const { return kind != PythonKind::string && text == wanted; }
  bool is_name() const { return kind == PythonKind::name && !member; }
};

/// One logical line: up to a newline or semicolon outside of brackets.
struct PythonLine {
  size_t indent = 0;                // columns
  std::vector<PythonToken> tokens;  // never empty
  size_t begin = 0;                 // the offset of its first physical line
  size_t end = 0;                   // the offset after its last physical line
};

/// The logical lines in order. Their tokens are views of `code`.
std::vector<PythonLine> python_lines(std::string_view code);

/// The text with spaces in place of its comments and strings, so that a search for words finds
/// only code, in the same lines and columns. Expressions in the braces of an f-string count as
/// text.
std::string python_code(std::string_view text);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The top-level statements of a Python text, and the names in them. Reads tokens, not grammar.
// Pure.
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
  size_t indent = 0;  // columns
  std::vector<PythonToken> tokens;
};

/// A statement that begins at the margin, with its decorators and its block.
struct PythonStatement {
  std::string_view text;          // whole lines, without the last newline
  std::vector<PythonLine> lines;  // never empty
};

/// The statements in order. Their texts are views of `code`.
std::vector<PythonStatement> python_statements(std::string_view code);

}  // namespace warpsmith::sandbox

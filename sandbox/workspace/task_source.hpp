// SPDX-License-Identifier: Apache-2.0
// The parts of a task's text that decide its output, without those that only draw its inputs. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/compile/python_lexer.hpp"

namespace warpsmith::sandbox {

/// A statement that begins at the margin, with its decorators and its block.
struct PythonStatement {
  std::string_view text;          // whole lines, without the last newline
  std::vector<PythonLine> lines;  // never empty
};

/// `Model` and every statement that defines or changes a name which the parts use, directly or not;
/// also statements that only set or call what the text does not define, such as a library's switch.
/// Comments between statements are left out.
class TaskSource {
 public:
  /// `parse_failed` if nothing defines `Model`.
  static Result<TaskSource> parse(std::string_view code);

  /// The import statements at the margin, a line each.
  std::string imports() const;
  /// The parts, without a trailing newline.
  std::string model() const { return parts({"Model"}); }
  /// The same with `get_init_inputs`, which makes the constructor's arguments, and what it uses.
  std::string model_with_arguments() const { return parts({"Model", "get_init_inputs"}); }
  /// False if the constructor gets no arguments, or uses them only for the shapes and values of
  /// `nn.Parameter`s: a submission gets those as buffers.
  bool arguments_matter() const;

 private:
  explicit TaskSource(std::string_view code);
  std::string parts(std::initializer_list<std::string_view> roots) const;
  const PythonStatement* definition(std::string_view name) const;

  std::vector<char> code_;  // without carriage returns; a move keeps its address
  std::vector<PythonStatement> statements_;
};

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// A promoted kernel as a Python package: a torch.library custom op with a fake kernel, its build
// and its regression test. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/contract/library_build.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::commands {

/// One declared shape and the buffers that `solve` gets for it.
struct ExportedShape {
  std::string function;  // "get_inputs"
  TaskSignature signature;
  double judged_ms = 0;  // the candidate's median time
};

/// What the op calls.
enum class ExportForm : uint8_t {
  library,  // contract `cpu`: solve() of a shared library
  plan,     // contract `device`: the steps of a launch plan
  module,   // contract `host`: ModelNew
};

struct ExportedKernel {
  ExportForm form = ExportForm::library;
  std::string name;                       // of the package and its ops; empty: the default
  Task task;                              // with the device that it was judged on
  FileSet files;                          // of the submission
  std::vector<ExportedShape> shapes;      // at least one; equal but for their extents
  std::vector<sandbox::BoundPlan> plans;  // form `plan`: one for each shape; else empty
  sandbox::LibraryBuild build;            // of the contract
};

/// "warpsmith_OPERATOR_HASH", a name that Python can import. The hash of the operator and the
/// kernel keeps exports of equal file names apart in one process.
std::string default_package_name(const Task& task, const FileSet& kernel);

/// `invalid_argument` unless Python can import a package of this name and torch register its ops.
Result<void> check_package_name(const std::string& name);

/// The files of the package's folder.
FileSet export_package(const ExportedKernel& kernel);

// The steps of a bound plan as C++ of the op.

/// Why an op cannot run these steps; empty if it can.
std::optional<std::string> unexportable(const sandbox::BoundPlan& plan);

/// Values of placeholders by their names.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// Adds what the templates of form `plan` need to the values of all forms. Requires exportable
/// plans.
void add_plan_values(const std::vector<sandbox::BoundPlan>& plans, Placeholders& values);

// The templates of the package's files; export_templates.cpp describes their form.

/// Throws std::logic_error, with the name of a placeholder that has no value.
std::string fill_template(std::string_view text, const Placeholders& values);

/// The same for templates/NAME.in.
std::string filled_template(std::string_view name, const Placeholders& values);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// A promoted kernel as a Python package: a torch.library custom op with a fake kernel, its build
// and its regression test. Pure.
#pragma once

#include <string>
#include <vector>

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
  Task task;                              // with the device that it was judged on
  FileSet files;                          // of the submission
  std::vector<ExportedShape> shapes;      // at least one; equal but for their extents
  std::vector<sandbox::BoundPlan> plans;  // form `plan`: one for each shape; else empty
  sandbox::LibraryBuild build;            // of the contract
};

/// "warpsmith_NAME", a name that Python can import.
std::string package_name(const Task& task);

/// The files of the package's folder.
FileSet export_package(const ExportedKernel& kernel);

}  // namespace warpsmith::commands

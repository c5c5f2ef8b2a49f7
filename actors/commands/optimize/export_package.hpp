// SPDX-License-Identifier: Apache-2.0
// A promoted kernel of contract `cpu` as a Python package: a torch.library custom op with a fake
// kernel, its build and its regression test. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::actors {

/// One declared shape and the buffers that `solve` gets for it.
struct ExportedShape {
  std::string function;  // "get_inputs"
  TaskSignature signature;
  double judged_ms = 0;  // the candidate's median time
};

struct ExportedKernel {
  Task task;
  FileSet files;                                       // of the submission
  std::vector<ExportedShape> shapes;                   // at least one; equal but for their extents
  std::vector<std::string> compile_flags, link_flags;  // of the judge
  std::string header_name, header;                     // that kernels include
};

/// "warpsmith_NAME", a name that Python can import.
std::string package_name(const Task& task);

/// The files of the package's folder.
FileSet export_package(const ExportedKernel& kernel);

}  // namespace warpsmith::actors

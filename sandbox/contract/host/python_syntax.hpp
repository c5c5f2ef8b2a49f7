// SPDX-License-Identifier: Apache-2.0
// Parses the Python files of a submission, so that syntax errors are reported before anything runs.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "sandbox/compile/compiled.hpp"

namespace warpsmith::sandbox {

struct PythonSyntaxOptions {
  std::string python;
  std::string worker_folder;  // host_syntax.py
  uint64_t message_bytes = 64ULL << 10U;
  std::chrono::milliseconds timeout{20'000};
  std::vector<int> cores;  // empty: the calling thread's
  bool cgroup_required = false;
};

/// Parses in a jail. Empty, or a failure of class `compile_error` that names file and line:
/// "SyntaxError: invalid syntax (model_new.py, line 1)". An error is a failure of ours.
Result<Compiled> parse_python(const FileSet& modules, const PythonSyntaxOptions& options,
                              Deadline deadline);

}  // namespace warpsmith::sandbox

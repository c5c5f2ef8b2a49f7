// SPDX-License-Identifier: Apache-2.0
// Python files of a submission, parsed: what a compiler says of sources, said before anything runs.
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
  std::optional<int> core;  // as of CompilerOptions
  bool cgroup_required = false;
};

/// Empty, or a failure of class `compile_error` that names file and line: "SyntaxError: invalid
/// syntax (model_new.py, line 1)". In a jail. An error is ours.
Result<Compiled> parse_python(const FileSet& modules, const PythonSyntaxOptions& options,
                              Deadline deadline);

}  // namespace warpsmith::sandbox

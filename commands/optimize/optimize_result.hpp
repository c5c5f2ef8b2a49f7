// SPDX-License-Identifier: Apache-2.0
// Writes the result of `optimize` into its folder: the promoted kernel, the reports and the export.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/optimize/attempt.hpp"
#include "commands/optimize/optimize_report.hpp"
#include "commands/optimize/result_folder.hpp"
#include "commands/optimize/submissions.hpp"

namespace warpsmith::commands {
using namespace actors;

struct ResultParts {
  const ResultFolder& folder;
  const SandboxBackendFactory& service;  // returns the buffers of the kernel
  const std::vector<DeclaredShape>& shapes;
  const std::vector<FoundSubmission>&candidates, &users;
  std::function<bool()> stopped;           // then no service starts: neither export nor profile
  std::chrono::milliseconds evaluation{};  // longest evaluation of one shape
  std::string export_name;                 // of the package; empty: the default
};

/// Writes all files and completes `report` with what they need; says in it if Ctrl-C came
/// meanwhile. If nothing is promoted, kernel/ and
/// export/ of an earlier call are removed.
Result<void> write_result(const ResultParts& parts, OptimizeReport& report);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// Writes the result folder: the promoted kernel, the reports and the export.
#pragma once

#include <chrono>
#include <vector>

#include "commands/optimize/declared_shapes.hpp"
#include "commands/optimize/optimize_report.hpp"
#include "commands/optimize/optimize_settings.hpp"
#include "commands/optimize/submissions.hpp"
#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::commands {
using namespace actors;

struct ResultParts {
  const ResultFolder& folder;
  const SandboxBackendFactory& service;  // tells the buffers of the kernel
  const std::vector<DeclaredShape>& shapes;
  const std::vector<FoundSubmission>&candidates, &users;
  bool stopped = false;  // no service starts any more, so there are no export and no profile
  std::chrono::milliseconds evaluation{};  // longest evaluation of one shape
};

/// Writes all files and completes `report` with what they need. Where nothing is promoted, kernel/
/// and export/ of an earlier call are removed.
Result<void> write_result(const ResultParts& parts, OptimizeReport& report);

}  // namespace warpsmith::commands

// SPDX-License-Identifier: Apache-2.0
// Correct kernels for tasks, written by the script that also writes demonstrations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::commands {

/// Task id → the files of one submission per style.
using KernelSources = std::map<std::string, std::vector<FileSet>>;

/// The kernels to write.
struct KernelRequest {
  std::string contract = "cpu";      // or "device"
  std::vector<std::string> folders;  // of tasks
  std::vector<std::string> styles;   // empty: all of the contract
  bool skip_unknown = false;         // skip tasks that the script cannot solve, instead of failing
};

/// Runs scripts/write_kernels.py for at most three minutes. An error contains the script's own
/// message.
Result<KernelSources> write_kernels(const KernelRequest& request);

/// Tasks, each with at least one submission.
struct KernelTasks {
  std::vector<Task> tasks;
  KernelSources sources;
};

/// The tasks of `folder` that the script has kernels for; if `folder` is empty, the contract's own
/// training tasks. `not_found` if there are none.
Result<KernelTasks> tasks_with_kernels(const std::string& contract, std::string folder,
                                       const std::vector<std::string>& styles = {});

}  // namespace warpsmith::commands

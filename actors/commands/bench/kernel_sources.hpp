// SPDX-License-Identifier: Apache-2.0
// Right kernels for tasks, as the script that makes demonstrations writes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::actors {

/// The task's id → one submission's files per style.
using KernelSources = std::map<std::string, std::vector<FileSet>>;

/// What is to be written.
struct KernelOrder {
  std::string contract = "cpu";      // or "device"
  std::vector<std::string> folders;  // of tasks
  std::vector<std::string> styles;   // empty: all of the contract
  bool skip_unknown = false;         // leave out tasks that are beyond the script; else it fails
};

/// Runs scripts/write_kernels.py for at most three minutes. The message of a failure is the
/// script's own.
Result<KernelSources> write_kernels(const KernelOrder& order);

/// Tasks, each with at least one submission.
struct KernelTasks {
  std::vector<Task> tasks;
  KernelSources sources;
};

/// Those of `folder` that kernels are known for; empty: our own training tasks of the contract.
/// `not_found` where there is none.
Result<KernelTasks> tasks_with_kernels(const std::string& contract, std::string folder,
                                       const std::vector<std::string>& styles = {});

}  // namespace warpsmith::actors

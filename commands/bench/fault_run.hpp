// SPDX-License-Identifier: Apache-2.0
// Runs honest evaluations on some slots and random faults on others. Counts verdicts that change,
// and finds what the services leave behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands/bench/faults.hpp"
#include "commands/bench/kernel_sources.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {

struct FaultLoad {
  std::string contract = "cpu";
  std::vector<Task> tasks;
  KernelSources sources;  // for every task
  int64_t kernels = 0;    // most distinct honest kernels
  int64_t evaluations = 0,
          faults = 0;  // least number of each; both continue until both are reached
  uint64_t seed = 0;
  std::function<void(const std::string&)> progress;
  /// Called repeatedly, by one thread at a time; once true, nothing more is started.
  std::function<bool()> stop = [] { return false; };
  std::shared_ptr<sandbox::EndSwitch> ender;  // ends all services from another thread after `stop`
};

/// Needs at least two slots; the first half judges honest kernels, the others get the faults. Once
/// there are enough honest evaluations, all but the first slot get faults. Every honest kernel is
/// judged once before any fault. After all services have ended, looks for what they left:
/// processes, cgroups, unfinished files in the cache and in the temporary folder. The caller fills
/// in `leftovers.free_bytes_*`.
Result<FaultFigures> run_faults(const std::vector<sandbox::SandboxOptions>& slots,
                                const FaultLoad& load);

}  // namespace warpsmith::commands

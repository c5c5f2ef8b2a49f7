// SPDX-License-Identifier: Apache-2.0
// Honest evaluations on some slots while others meet random faults: do verdicts stay the same, and
// is anything left behind?
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/commands/bench/fault_figures.hpp"
#include "actors/commands/bench/kernel_sources.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

struct FaultLoad {
  std::string contract = "cpu";
  std::vector<Task> tasks;
  KernelSources sources;                // of every task
  int64_t kernels = 0;                  // distinct honest ones, at most
  int64_t evaluations = 0, faults = 0;  // at least so many of each: both go on until both are done
  uint64_t seed = 0;
  std::function<void(const std::string&)> progress;
  /// Asked again and again, by one thread at a time: once true, nothing more is begun.
  std::function<bool()> stop = [] { return false; };
  std::shared_ptr<sandbox::EndSwitch> ender;  // ends all services from another thread, once `stop`
};

/// At least two slots; the first half of them judges honest kernels, the others meet the faults.
/// With enough honest ones judged, all but the first slot meet faults. Every honest kernel is
/// judged once before any fault. When all services have ended, looks for what they left: processes,
/// cgroups, unfinished files of the cache and of the folder for temporary files.
/// `remains.free_bytes_*` are the caller's.
Result<FaultFigures> run_faults(const std::vector<sandbox::SandboxOptions>& slots,
                                const FaultLoad& load);

}  // namespace warpsmith::actors

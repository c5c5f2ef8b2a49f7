// SPDX-License-Identifier: Apache-2.0
// The options of a sandbox service and of the evaluator in it: the first frame that a client sends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/sandbox_config.hpp"
#include "runtime/describe.hpp"

namespace warpsmith::sandbox {

/// One service process is one slot. Folders are made if missing; several services may share them.
struct SandboxOptions {
  std::string program;      // path of warpsmith-sandbox; empty: next to this executable
  std::string python;       // interpreter that holds torch; empty: no reference worker
  std::string cache_dir;    // facts of tasks, compiled baselines, compiled candidates
  std::optional<int> core;  // the slot's; none: not pinned
  // Where the compilers of a slot run while nothing is timed there, or everything of a service
  // without a core; empty: where the calling thread runs.
  std::vector<int> cores;
  std::optional<int> gpu;              // the slot's, as the driver numbers it; none: a CPU slot
  std::vector<std::string> baselines;  // further ones by name: reference/baseline.hpp
  SandboxSettings settings;
  uint32_t keep_s = 0;  // how long the service waits for the next client; 0: ends with this one

  WARPSMITH_RECORD(program, python, cache_dir, core, cores, gpu, baselines, settings, keep_s)

  /// Where all compilers of all slots keep what they compiled.
  std::string compiled_folder() const { return cache_dir + "/compiled"; }
};

}  // namespace warpsmith::sandbox

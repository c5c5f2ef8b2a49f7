// SPDX-License-Identifier: Apache-2.0
// What a slot can do at best, one core or one GPU, measured once and kept on disk.
#pragma once

#include <functional>
#include <string>

#include "runtime/result.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

struct Machine {
  std::string name;         // of the processor, as the kernel reports it, or of the GPU
  int cores = 0;            // online, or multiprocessors
  double cache_mbytes = 0;  // last level
  MachineLimits limits;

  /// Names what the measurements depend on: part of cache keys.
  std::string key() const;
};

/// One core's, from `cache_folder`/machine-KEY.json, or measured and written there. A damaged file
/// is measured anew; a folder that cannot be written only costs the file.
Machine known_machine(const std::string& cache_folder);

/// The same for any `machine` that has all but its limits, which `measure` gives.
Machine known_machine(const std::string& cache_folder, Machine machine,
                      const std::function<MachineLimits()>& measure);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// The peak rates of a slot, one core or one GPU, measured once and kept on disk.
#pragma once

#include <functional>
#include <string>

#include "runtime/result.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

struct Machine {
  std::string name;         // of the processor as the kernel reports it, or of the GPU
  int cores = 0;            // cores online, or multiprocessors
  double cache_mbytes = 0;  // last level
  MachineLimits limits;

  /// Identifies what the measurements depend on; part of cache keys.
  std::string key() const;
};

/// The limits of one core, from `cache_folder`/machine-KEY.json or else measured and written there.
/// A damaged file is measured again; failure to write the file is ignored.
Machine known_machine(const std::string& cache_folder);

/// The same for any `machine` without limits, which `measure` supplies.
Machine known_machine(const std::string& cache_folder, Machine machine,
                      const std::function<MachineLimits()>& measure);

}  // namespace warpsmith::sandbox

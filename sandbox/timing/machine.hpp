// SPDX-License-Identifier: Apache-2.0
// What one core of this machine can do at best, measured once and kept on disk.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

struct Machine {
  std::string cpu;          // model name as the kernel reports it
  int cores = 0;            // online
  double cache_mbytes = 0;  // last level
  MachineLimits limits;

  /// Names what the measurements depend on: part of cache keys.
  std::string key() const;
};

/// Takes about 0.3 s. The best of several passes: noise only slows down.
Machine measure_machine();

/// From `cache_folder`/machine-KEY.json, or measured and written there. A damaged file is measured
/// anew; a folder that cannot be written only costs the file.
Machine known_machine(const std::string& cache_folder);

}  // namespace warpsmith::sandbox

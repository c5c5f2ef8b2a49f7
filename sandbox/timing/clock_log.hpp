// SPDX-License-Identifier: Apache-2.0
// A GPU's clocks, power and throttle reasons around timed blocks, never within a timed call.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"

namespace warpsmith::sandbox {

/// A reading that takes longer would leave the GPU idle between blocks, and cool it; it waits for
/// the driver's lock where contexts come up and go, of other GPUs too.
inline constexpr std::chrono::milliseconds longest_reading{1};

struct ClockRecord {
  /// One reading before the first block and one after each; else one before all, one after each
  /// until one takes too long, and one after all.
  bool each_block = false;
  double first_reading_ms = 0;  // how long it took
  std::vector<cuda::ClockSample> samples;
};

/// Of one evaluation's blocks.
class ClockLog {
 public:
  using Now = std::function<SteadyClock::time_point()>;
  explicit ClockLog(cuda::ClockReader& reader, Now now = SteadyClock::now)
      : reader_(reader), now_(std::move(now)) {}

  /// Before the first block that counts.
  void begin();
  /// After each block that counts.
  void block_done();
  /// After the last one, or where the timing broke off.
  ClockRecord end();

 private:
  SteadyClock::duration read();

  cuda::ClockReader& reader_;
  Now now_;
  ClockRecord record_;
};

}  // namespace warpsmith::sandbox

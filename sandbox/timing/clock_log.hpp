// SPDX-License-Identifier: Apache-2.0
// Records a GPU's clocks, power and throttle reasons around timed blocks, never within a timed
// call.
#pragma once

#include <chrono>
#include <functional>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"
#include "sandbox/timing/clock_record.hpp"

namespace warpsmith::sandbox {

/// A slower reading would let the GPU idle and cool between blocks. Readings wait for the driver's
/// lock while contexts are created or destroyed, on any GPU.
inline constexpr std::chrono::milliseconds longest_reading{1};

/// For the blocks of one evaluation.
class ClockLog {
 public:
  using Now = std::function<SteadyClock::time_point()>;
  explicit ClockLog(cuda::ClockReader& reader, Now now = SteadyClock::now)
      : reader_(reader), now_(std::move(now)) {}

  /// Call it before the first block that counts.
  void begin();
  /// Call it after each block that counts.
  void block_done();
  /// Call it after the last block, or when timing broke off.
  ClockRecord end();

 private:
  SteadyClock::duration read();

  cuda::ClockReader& reader_;
  Now now_;
  ClockRecord record_;
};

}  // namespace warpsmith::sandbox

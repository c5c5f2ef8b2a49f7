// SPDX-License-Identifier: Apache-2.0
// Records a GPU's clocks, power and throttle reasons around timed blocks, never within a timed
// call.
#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"

namespace warpsmith::sandbox {

/// A GPU's clocks, power and throttle reasons around the timed blocks of one evaluation.
struct ClockRecord {
  /// True: one reading before the first block and one after each. False: readings after blocks
  /// ended with one that took too long; one more followed the last block.
  bool each_block = false;
  double first_reading_ms = 0;  // duration of the first reading
  std::vector<cuda::ClockSample> samples;
};

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
  void begin() {
    const auto took = read();
    record_.first_reading_ms = in_ms(took);
    record_.each_block = took < longest_reading;
  }
  /// Call it after each block that counts.
  void block_done() {
    if (record_.each_block) record_.each_block = read() < longest_reading;
  }
  /// Call it after the last block, or when timing broke off.
  ClockRecord end() {
    const bool begun = !record_.samples.empty();
    if (begun && !record_.each_block) record_.samples.push_back(reader_.read());
    return std::move(record_);
  }

 private:
  SteadyClock::duration read() {
    const auto start = now_();
    record_.samples.push_back(reader_.read());
    return now_() - start;
  }

  cuda::ClockReader& reader_;
  Now now_;
  ClockRecord record_;
};

}  // namespace warpsmith::sandbox

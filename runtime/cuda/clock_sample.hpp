// SPDX-License-Identifier: Apache-2.0
// What a GPU's board says about its clocks while something is timed. Read, never set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpsmith::cuda {

/// One reading. What the board does not answer is empty.
struct ClockSample {
  std::optional<int> sm_mhz, memory_mhz;
  std::optional<double> power_w;  // of the board; the driver averages over up to a second
  std::optional<int> celsius;
  std::optional<uint64_t> reasons;  // why clocks are what they are: bits of nvml.h
};

/// One GPU's readings. For one thread.
class ClockReader {
 public:
  ClockReader() = default;
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;
  virtual ~ClockReader() = default;

  virtual ClockSample read() = 0;
};

/// NVML's nvmlClocksEventReason names of the bits that are set, e.g. "sw_power_cap"; a bit of a
/// later driver as "bit 12".
std::vector<std::string> reason_names(uint64_t reasons);

/// True of reasons that hold a busy GPU below the clocks that it is set to: power, heat, hardware.
bool slows_down(const std::string& reason);

/// Of several readings; empty where none has the figure.
struct ClockSummary {
  std::optional<double> lowest_sm_mhz, median_sm_mhz, lowest_memory_mhz, median_memory_mhz;
  std::optional<double> highest_power_w, highest_celsius;
  std::map<std::string, int> reasons;  // name → how many readings have it
};
ClockSummary summary_of(std::span<const ClockSample> samples);

}  // namespace warpsmith::cuda

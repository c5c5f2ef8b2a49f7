// SPDX-License-Identifier: Apache-2.0
// Reads a GPU's clocks, power and temperature while something is timed. Never sets them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpsmith::cuda {

/// One reading. Values that the board does not report are empty.
struct ClockSample {
  std::optional<int> sm_mhz, memory_mhz;
  std::optional<double> power_w;  // of the whole board, averaged by the driver over up to a second
  std::optional<int> celsius;
  std::optional<uint64_t> reasons;  // why the clocks are as they are: bits of nvml.h
};

/// Reads one GPU's clocks. Not thread-safe.
class ClockReader {
 public:
  ClockReader() = default;
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;
  virtual ~ClockReader() = default;

  virtual ClockSample read() = 0;
};

/// The names of the bits that are set, as NVML's nvmlClocksEventReason has them, e.g.
/// "sw_power_cap"; "bit 12" for a bit that only later drivers name.
std::vector<std::string> reason_names(uint64_t reasons);

/// True for reasons that keep a busy GPU below its configured clocks: power, heat, hardware.
bool slows_down(const std::string& reason);

/// Summary of several readings; a figure that none of them has is empty.
struct ClockSummary {
  std::optional<double> lowest_sm_mhz, median_sm_mhz, lowest_memory_mhz, median_memory_mhz;
  std::optional<double> highest_power_w, highest_celsius;
  std::map<std::string, int> reasons;  // name → how many readings have it
};
ClockSummary summary_of(std::span<const ClockSample> samples);

}  // namespace warpsmith::cuda

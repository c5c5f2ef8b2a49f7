// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/clock_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/median.hpp"

namespace warpsmith::cuda {
namespace {

// In order of bits, from bit 0: nvmlClocksEventReasons of nvml.h.
constexpr std::array<std::string_view, 9> names{"gpu_idle",
                                                "applications_clocks_setting",
                                                "sw_power_cap",
                                                "hw_slowdown",
                                                "sync_boost",
                                                "sw_thermal_slowdown",
                                                "hw_thermal_slowdown",
                                                "hw_power_brake_slowdown",
                                                "display_clock_setting"};

template <class T>
std::vector<double> present(std::span<const ClockSample> samples,
                            std::optional<T> ClockSample::* member) {
  std::vector<double> values;
  for (const ClockSample& sample : samples) {
    if (sample.*member) values.push_back(static_cast<double>(*(sample.*member)));
  }
  return values;
}

std::optional<double> lowest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::ranges::min_element(values);
}

std::optional<double> highest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::ranges::max_element(values);
}

std::optional<double> middle(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return median(values);
}

}  // namespace

std::vector<std::string> reason_names(uint64_t reasons) {
  std::vector<std::string> found;
  for (size_t bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1U) == 0) continue;
    found.push_back(bit < names.size() ? std::string(names[bit]) : fmt::format("bit {}", bit));
  }
  return found;
}

bool slows_down(const std::string& reason) {
  return reason.ends_with("_slowdown") || reason == "sw_power_cap";
}

ClockSummary summary_of(std::span<const ClockSample> samples) {
  const auto sm = present(samples, &ClockSample::sm_mhz);
  const auto memory = present(samples, &ClockSample::memory_mhz);
  ClockSummary summary{.lowest_sm_mhz = lowest(sm),
                       .median_sm_mhz = middle(sm),
                       .lowest_memory_mhz = lowest(memory),
                       .median_memory_mhz = middle(memory),
                       .highest_power_w = highest(present(samples, &ClockSample::power_w)),
                       .highest_celsius = highest(present(samples, &ClockSample::celsius)),
                       .reasons = {}};
  for (const ClockSample& sample : samples) {
    for (const std::string& name : reason_names(sample.reasons.value_or(0))) {
      ++summary.reasons[name];
    }
  }
  return summary;
}

}  // namespace warpsmith::cuda

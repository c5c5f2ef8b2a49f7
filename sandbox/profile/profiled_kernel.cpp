// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/profiled_kernel.hpp"

#include <algorithm>
#include <numeric>

namespace warpsmith::sandbox {
namespace {

using cuda::RecordKind;

constexpr size_t kept_name_bytes = 200;
constexpr double most_counted = 1e18;       // bytes or operations of one kernel
constexpr double most_warps_active = 1.01;  // a fraction; measured values may exceed 1

}  // namespace

std::string clean_name(const std::string& name) {
  std::string clean = name.substr(0, kept_name_bytes);
  for (char& c : clean) {
    if (c < ' ' || c > '~') c = '?';
  }
  return clean.empty() ? "?" : clean;
}

const char* kind_name(RecordKind kind) noexcept {
  if (kind == RecordKind::kernel) return "kernel";
  return kind == RecordKind::copy ? "copy" : "fill";
}

double total_us(const PartyKernels& party) {
  return std::accumulate(party.kernels.begin(), party.kernels.end(), 0.0,
                         [](double sum, const ProfiledKernel& one) { return sum + one.time_us; });
}

std::optional<KernelRates> rates_of(const ProfiledKernel& kernel) {
  if (!kernel.counters || !(kernel.time_us > 0)) return std::nullopt;
  const double bytes = kernel.counters->dram_read_bytes + kernel.counters->dram_written_bytes;
  const double per_us = 1e-3 / kernel.time_us;  // converts an amount to 10⁹ per second
  return KernelRates{bytes, bytes * per_us, kernel.counters->flops * per_us,
                     kernel.counters->tensor_flops * per_us};
}

bool is_possible(const cuda::KernelCounters& counters) {
  const auto amount = [](double value) { return value >= 0 && value <= most_counted; };
  return amount(counters.dram_read_bytes) && amount(counters.dram_written_bytes) &&
         amount(counters.flops) && amount(counters.tensor_flops) && counters.warps_active >= 0 &&
         counters.warps_active <= most_warps_active;
}

void add_counters(PartyKernels& party, const Result<std::vector<cuda::KernelCounters>>& counted) {
  const auto is_kernel = [](const ProfiledKernel& one) { return one.kind == RecordKind::kernel; };
  const auto launched = static_cast<size_t>(std::ranges::count_if(party.kernels, is_kernel));
  if (!counted) {
    party.uncounted = counted.error().message;
  } else if (counted->size() != launched) {
    party.uncounted = "counters of " + std::to_string(counted->size()) + " kernels, expected " +
                      std::to_string(launched);
  } else {
    auto next = counted->begin();
    for (ProfiledKernel& one : party.kernels) {
      if (is_kernel(one)) one.counters = *next++;
    }
  }
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/profiled_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "runtime/median.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::RecordKind;

constexpr size_t kept_name_bytes = 200;
constexpr double most_counted = 1e18;       // bytes or operations of one kernel
constexpr double most_warps_active = 1.01;  // a fraction; measured values may exceed 1

using cuda::KernelRecord;

bool same_work(const KernelRecord& a, const KernelRecord& b) {
  return a.kind == b.kind && a.name == b.name && a.grid == b.grid && a.block == b.block;
}

ProfiledKernel facts_of(const KernelRecord& record) {
  ProfiledKernel kernel{.kind = record.kind,
                        .name = clean_name(record.name),
                        .grid = record.grid,
                        .block = record.block,
                        .registers = record.registers,
                        .shared_bytes = record.static_shared + record.dynamic_shared};
  if (record.kind == RecordKind::kernel) {
    kernel.static_shared_bytes = record.static_shared;
    kernel.local_bytes = record.local_bytes;
  } else {
    kernel.name = kind_name(record.kind);
    kernel.bytes = record.bytes;
  }
  return kernel;
}

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

double total_us(const CallKernels& call) {
  return std::accumulate(call.kernels.begin(), call.kernels.end(), 0.0,
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

void add_counters(CallKernels& call, const Result<std::vector<cuda::KernelCounters>>& counted) {
  const auto is_kernel = [](const ProfiledKernel& one) { return one.kind == RecordKind::kernel; };
  const auto launched = static_cast<size_t>(std::ranges::count_if(call.kernels, is_kernel));
  if (!counted) {
    call.uncounted = counted.error().message;
  } else if (counted->size() != launched) {
    call.uncounted = fmt::format("counters of {} kernels, expected {}", counted->size(), launched);
  } else {
    auto next = counted->begin();
    for (ProfiledKernel& one : call.kernels) {
      if (is_kernel(one)) one.counters = *next++;
    }
  }
}

Result<std::vector<ProfiledKernel>> fold_calls(const std::vector<KernelRecord>& records,
                                               size_t calls) {
  assert(calls >= 2 && "the first call does not count");
  const size_t each = records.size() / calls;
  if (each * calls != records.size()) {
    return fail(ErrorCode::parse_failed,
                fmt::format("{} records of {} equal calls", records.size(), calls));
  }
  std::vector<ProfiledKernel> kernels;
  for (size_t i = 0; i < each && i < most_profiled_kernels; ++i) {
    std::vector<double> starts, times;
    for (size_t call = 1; call < calls; ++call) {
      const KernelRecord& record = records[call * each + i];
      if (!same_work(record, records[i])) {
        return fail(ErrorCode::parse_failed, "calls of one plan differ in what they launched");
      }
      starts.push_back(static_cast<double>(record.start_ns - records[call * each].start_ns) / 1e3);
      times.push_back(static_cast<double>(record.duration_ns) / 1e3);
    }
    kernels.push_back(facts_of(records[i]));
    kernels.back().start_us = median(starts);
    kernels.back().time_us = median(times);
  }
  return kernels;
}

}  // namespace warpsmith::sandbox

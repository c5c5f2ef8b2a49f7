// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/fold_calls.hpp"

#include <cassert>

#include "runtime/median.hpp"

namespace warpsmith::sandbox {
namespace {

using cuda::KernelRecord;
using cuda::RecordKind;

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

Result<std::vector<ProfiledKernel>> fold_calls(const std::vector<KernelRecord>& records,
                                               size_t calls) {
  assert(calls >= 2 && "the first call does not count");
  const size_t each = records.size() / calls;
  if (each * calls != records.size()) {
    return fail(ErrorCode::parse_failed, std::to_string(records.size()) + " records of " +
                                             std::to_string(calls) + " equal calls");
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

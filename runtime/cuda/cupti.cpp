// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cupti.hpp"

#include <cupti.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include "runtime/cuda/cupti_call.hpp"

namespace warpsmith::cuda {
namespace {

constexpr size_t buffer_bytes = 64 << 10;
constexpr size_t buffer_alignment = 8;  // CUPTI's ACTIVITY_RECORD_ALIGNMENT
constexpr std::array kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                           CUPTI_ACTIVITY_KIND_MEMSET};

/// The only global in this file: CUPTI's callbacks have no user pointer.
struct Collection {
  std::mutex mutex;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  std::vector<KernelRecord> records;
  bool lost = false;  // there were more than fit
};
Collection& collection() {
  static Collection instance;
  return instance;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *max_records = 0;
}

/// A record with its times, which are 0 if CUPTI did not take them.
template <class Activity>
KernelRecord timed(RecordKind kind, const Activity& activity) {
  return {.kind = kind,
          .start_ns = static_cast<int64_t>(activity.start),
          .duration_ns = static_cast<int64_t>(activity.end - activity.start),
          .in_graph = activity.graphNodeId != 0};
}

template <class Activity>
KernelRecord moved(RecordKind kind, const Activity& activity) {
  KernelRecord record = timed(kind, activity);
  record.bytes = activity.bytes;
  return record;
}

std::array<uint32_t, 3> extents(int32_t x, int32_t y, int32_t z) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

KernelRecord record_of(const CUpti_ActivityKernel10& kernel) {
  KernelRecord record = timed(RecordKind::kernel, kernel);
  record.name = kernel.name == nullptr ? "" : kernel.name;
  record.grid = extents(kernel.gridX, kernel.gridY, kernel.gridZ);
  record.block = extents(kernel.blockX, kernel.blockY, kernel.blockZ);
  record.registers = kernel.registersPerThread;
  record.static_shared = static_cast<uint32_t>(kernel.staticSharedMemory);
  record.dynamic_shared = static_cast<uint32_t>(kernel.dynamicSharedMemory);
  record.local_bytes = kernel.localMemoryPerThread;
  return record;
}

KernelRecord record_of(const CUpti_Activity& activity) {
  const auto* any = static_cast<const void*>(&activity);
  if (activity.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    return moved(RecordKind::copy, *static_cast<const CUpti_ActivityMemcpy6*>(any));
  }
  if (activity.kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    return moved(RecordKind::fill, *static_cast<const CUpti_ActivityMemset4*>(any));
  }
  return record_of(*static_cast<const CUpti_ActivityKernel10*>(any));
}

void keep_record(const CUpti_Activity& activity) {
  if (std::ranges::find(kinds, activity.kind) == kinds.end()) return;
  Collection& into = collection();
  into.lost = into.records.size() >= max_kernel_records;
  if (!into.lost) into.records.push_back(record_of(activity));
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  const std::lock_guard lock{collection().mutex};
  CUpti_Activity* record = nullptr;
  while (collection().next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    keep_record(*record);
  std::free(buffer);
}

Result<void> flush_records(const DynamicLibrary& cupti) {
  return WARPSMITH_CUPTI(cupti, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

}  // namespace

Result<DynamicLibrary> load_cupti() {
  auto cupti = DynamicLibrary::open({"libcupti.so.13", "libcupti.so", WARPSMITH_CUPTI_LIBRARY,
                                     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  if (!cupti) return fail("no CUPTI", cupti.error());
  return cupti;
}

Result<void> start_kernel_records(const DynamicLibrary& cupti) {
  {
    const std::lock_guard lock{collection().mutex};
    collection().next_record =
        cupti.function<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
    if (collection().next_record == nullptr) {
      return fail(ErrorCode::unsupported, "libcupti lacks cuptiActivityGetNextRecord");
    }
    collection().records.clear();
    collection().lost = false;
  }
  auto done = WARPSMITH_CUPTI(cupti, cuptiActivityRegisterCallbacks, give_buffer, take_buffer);
  for (const CUpti_ActivityKind kind : kinds) {
    if (done) done = WARPSMITH_CUPTI(cupti, cuptiActivityEnable, kind);
  }
  return done;
}

Result<void> discard_kernel_records(const DynamicLibrary& cupti) {
  TRY_VOID(flush_records(cupti));
  const std::lock_guard lock{collection().mutex};
  collection().records.clear();
  collection().lost = false;
  return {};
}

Result<std::vector<KernelRecord>> stop_kernel_records(const DynamicLibrary& cupti) {
  auto done = flush_records(cupti);
  for (const CUpti_ActivityKind kind : kinds) {
    if (done) done = WARPSMITH_CUPTI(cupti, cuptiActivityDisable, kind);
  }
  if (!done) return tl::unexpected(std::move(done.error()));
  const std::lock_guard lock{collection().mutex};
  if (collection().lost) {
    return fail(ErrorCode::capacity,
                fmt::format("CUPTI collected more than {} records", max_kernel_records));
  }
  std::ranges::stable_sort(collection().records, {}, &KernelRecord::start_ns);
  return collection().records;
}

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cupti_kernels.hpp"

#include <cupti.h>

#include <cstdlib>
#include <mutex>

namespace warpsmith::cuda {
namespace {

constexpr size_t buffer_bytes = 64 << 10;
constexpr size_t buffer_alignment = 8;  // CUPTI's ACTIVITY_RECORD_ALIGNMENT

/// CUPTI's callbacks carry no user pointer, hence the one global of this file.
struct Collection {
  std::mutex mutex;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  std::vector<KernelRecord> records;
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

void keep(const CUpti_Activity* record) {
  if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
  const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
  collection().records.push_back({.name = kernel->name == nullptr ? "" : kernel->name,
                                  .duration_ns = static_cast<int64_t>(kernel->end - kernel->start),
                                  .registers = kernel->registersPerThread});
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  const std::lock_guard lock{collection().mutex};
  CUpti_Activity* record = nullptr;
  while (collection().next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) keep(record);
  std::free(buffer);
}

Result<void> checked(const char* call, CUptiResult code) {
  if (code == CUPTI_SUCCESS) return {};
  return fail(ErrorCode::unsupported,
              std::string{call} + " answered CUPTI error " + std::to_string(code));
}

template <class Function>
Result<Function*> entry(const DynamicLibrary& cupti, const char* name) {
  if (auto* found = cupti.function<Function>(name)) return found;
  return fail(ErrorCode::unsupported, std::string{"libcupti lacks "} + name);
}

}  // namespace

Result<DynamicLibrary> load_cupti() {
  auto cupti = DynamicLibrary::open({"libcupti.so.13", "libcupti.so", WARPSMITH_CUPTI_LIBRARY,
                                     "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  if (!cupti) return fail("no CUPTI", cupti.error());
  return cupti;
}

Result<void> start_kernel_records(const DynamicLibrary& cupti) {
  const auto enable = entry<decltype(cuptiActivityEnable)>(cupti, "cuptiActivityEnable");
  const auto callbacks =
      entry<decltype(cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks");
  const auto next =
      entry<decltype(cuptiActivityGetNextRecord)>(cupti, "cuptiActivityGetNextRecord");
  if (!enable) return tl::unexpected(enable.error());
  if (!callbacks) return tl::unexpected(callbacks.error());
  if (!next) return tl::unexpected(next.error());
  {
    const std::lock_guard lock{collection().mutex};
    collection().next_record = *next;
    collection().records.clear();
  }
  if (auto done = checked("cuptiActivityRegisterCallbacks", (*callbacks)(give_buffer, take_buffer));
      !done) {
    return done;
  }
  return checked("cuptiActivityEnable", (*enable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

Result<std::vector<KernelRecord>> stop_kernel_records(const DynamicLibrary& cupti) {
  const auto flush = entry<decltype(cuptiActivityFlushAll)>(cupti, "cuptiActivityFlushAll");
  const auto disable = entry<decltype(cuptiActivityDisable)>(cupti, "cuptiActivityDisable");
  if (!flush) return tl::unexpected(flush.error());
  if (!disable) return tl::unexpected(disable.error());
  if (auto done = checked("cuptiActivityFlushAll", (*flush)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
      !done) {
    return tl::unexpected(done.error());
  }
  if (auto done =
          checked("cuptiActivityDisable", (*disable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
      !done) {
    return tl::unexpected(done.error());
  }
  const std::lock_guard lock{collection().mutex};
  return collection().records;
}

}  // namespace warpsmith::cuda

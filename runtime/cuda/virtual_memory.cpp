// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/virtual_memory.hpp"

#include <algorithm>
#include <utility>

namespace warpsmith::cuda {
namespace {

CUmemAllocationProp properties(CUdevice device) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

uint64_t round_up(uint64_t bytes, uint64_t multiple) {
  return (std::max<uint64_t>(bytes, 1) + multiple - 1) / multiple * multiple;
}

}  // namespace

VirtualMemory VirtualMemory::create(const Context& context, uint64_t bytes) {
  const Api& api = context.api();
  const CUmemAllocationProp prop = properties(context.device());
  size_t granularity = 0;
  check(api,
        api.cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  VirtualMemory made{context, round_up(bytes, granularity)};
  check(api, api.cuMemCreate(&made.handle_, made.bytes_, &prop, 0), "cuMemCreate");
  made.held_ = true;
  made.map(Access::read_write);
  return made;
}

VirtualMemory VirtualMemory::import(const Context& context, int fd, uint64_t bytes, Access access) {
  const Api& api = context.api();
  VirtualMemory made{context, bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the call takes the descriptor's number as a pointer
  auto* const handle = reinterpret_cast<void*>(static_cast<intptr_t>(fd));
  check(api,
        api.cuMemImportFromShareableHandle(&made.handle_, handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "cuMemImportFromShareableHandle");
  made.held_ = true;
  made.map(access);
  return made;
}

void VirtualMemory::map(Access access) {
  check(*api_, api_->cuMemAddressReserve(&address_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  check(*api_, api_->cuMemMap(address_, bytes_, 0, handle_, 0), "cuMemMap");
  mapped_ = true;
  CUmemAccessDesc allowed{};
  allowed.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  allowed.location.id = device_;
  allowed.flags = access == Access::read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                              : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(*api_, api_->cuMemSetAccess(address_, bytes_, &allowed, 1), "cuMemSetAccess");
}

UniqueFd VirtualMemory::export_descriptor() const {
  int fd = -1;
  check(
      *api_,
      api_->cuMemExportToShareableHandle(&fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      "cuMemExportToShareableHandle");
  return UniqueFd{fd};
}

VirtualMemory::VirtualMemory(VirtualMemory&& other) noexcept
    : api_(other.api_),
      device_(other.device_),
      bytes_(other.bytes_),
      handle_(other.handle_),
      held_(std::exchange(other.held_, false)),
      mapped_(std::exchange(other.mapped_, false)),
      address_(std::exchange(other.address_, 0)) {}

VirtualMemory::~VirtualMemory() {
  if (mapped_) (void)api_->cuMemUnmap(address_, bytes_);
  if (address_ != 0) (void)api_->cuMemAddressFree(address_, bytes_);
  if (held_) (void)api_->cuMemRelease(handle_);
}

}  // namespace warpsmith::cuda

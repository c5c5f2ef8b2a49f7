// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/cuda/device_error.hpp"

namespace warpsmith::cuda {
namespace {

template <class Pointer>
bool take(const DynamicLibrary& library, const char* name, Pointer& into) {
  into = reinterpret_cast<Pointer>(library.find(name));
  return into != nullptr;
}

std::string too_old(const char* call, const Driver& driver) {
  return std::string("the driver lacks ") + call + ": it supports CUDA " +
         version_text(driver.cuda_version()) + ", but this program was built with " +
         version_text(CUDA_VERSION) + "; install a newer driver";
}

Result<Api> find_all() {
  TRY(const auto driver, Driver::load());
  Api api;
// Looks up the name that the header renames to: the driver's export of that name matches the
// declaration. (cuGetProcAddress by the plain name may return a newer form than declared.)
#define WARPSMITH_CUDA_NAME(call) #call
#define WARPSMITH_CUDA_TAKE(call)                                                    \
  if (!take(driver.library(), WARPSMITH_CUDA_NAME(call), api.call)) {                \
    return fail(ErrorCode::unsupported, too_old(WARPSMITH_CUDA_NAME(call), driver)); \
  }
  WARPSMITH_CUDA_CALLS(WARPSMITH_CUDA_TAKE)
#undef WARPSMITH_CUDA_TAKE
#undef WARPSMITH_CUDA_NAME
  return api;
}

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

int built_cuda_version() {
  return CUDA_VERSION;
}

Result<const Api*> load_api() {
  static const Result<Api> api = find_all();
  if (!api) return tl::unexpected(api.error());
  return &*api;
}

void check(const Api& api, CUresult code, const char* call) {
  if (code == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  (void)api.cuGetErrorName(code, &name);
  (void)api.cuGetErrorString(code, &text);
  throw DeviceError(std::string(call) + ": " + (name != nullptr ? name : "unknown error") + " (" +
                        (text != nullptr ? text : "?") + ")",
                    static_cast<int>(code));
}

Result<Context> Context::open(int index) {
  TRY(const auto api, load_api());
  CUdevice device = 0;
  if (api->cuDeviceGet(&device, index) != CUDA_SUCCESS) {
    return fail(ErrorCode::not_found, fmt::format("no GPU number {}", index));
  }
  try {
    CUcontext context = nullptr;
    check(*api, api->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(*api, api->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  } catch (const DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
  return Context{*api, device};
}

Context::Context(Context&& other) noexcept
    : api_(std::exchange(other.api_, nullptr)), device_(other.device_) {}

Context::~Context() {
  if (api_ == nullptr) return;
  (void)api_->cuCtxSetCurrent(nullptr);
  (void)api_->cuDevicePrimaryCtxRelease(device_);
}

int Context::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(*api_, api_->cuDeviceGetAttribute(&value, which, device_), "cuDeviceGetAttribute");
  return value;
}

uint64_t Context::l2_bytes() const {
  return static_cast<uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
}

Context::Memory Context::memory() const {
  size_t free = 0, total = 0;
  check(*api_, api_->cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return {free, total};
}

Stream make_stream(const Api& api) {
  CUstream stream = nullptr;
  check(api, api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return Stream{stream, {&api}};
}

Event make_event(const Api& api) {
  CUevent event = nullptr;
  check(api, api.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  return Event{event, {&api}};
}

GraphExec instantiated(const Api& api, CUgraph graph) {
  const Graph held{graph, {&api}};
  CUgraphExec ready = nullptr;
  check(api, api.cuGraphInstantiate(&ready, graph, 0), "cuGraphInstantiate");
  return GraphExec{ready, {&api}};
}

DeviceMemory::DeviceMemory(const Api& api, uint64_t bytes) : api_(&api), bytes_(bytes) {
  if (bytes > 0) check(api, api.cuMemAlloc(&address_, bytes), "cuMemAlloc");
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : api_(other.api_),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) (void)api_->cuMemFree(address_);
}

PinnedMemory::PinnedMemory(const Api& api, uint64_t bytes) : api_(&api) {
  check(api, api.cuMemHostAlloc(&data_, bytes, 0), "cuMemHostAlloc");
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : api_(other.api_), data_(std::exchange(other.data_, nullptr)) {}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) (void)api_->cuMemFreeHost(data_);
}

KernelModule::KernelModule(const Api& api, const void* image) : api_(&api) {
  check(api, api.cuModuleLoadData(&module_, image), "cuModuleLoadData");
}

KernelModule::~KernelModule() {
  (void)api_->cuModuleUnload(module_);
}

CUfunction KernelModule::function(const char* name) const {
  CUfunction function = nullptr;
  check(*api_, api_->cuModuleGetFunction(&function, module_, name), name);
  return function;
}

std::optional<KernelModule::Variable> KernelModule::variable(const char* name) const {
  CUdeviceptr address = 0;
  size_t bytes = 0;
  const CUresult code = api_->cuModuleGetGlobal(&address, &bytes, module_, name);
  if (code != CUDA_SUCCESS) return std::nullopt;
  return Variable{address, bytes};
}

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

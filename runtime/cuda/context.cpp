// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/context.hpp"

#include <utility>

#include "runtime/cuda/device_error.hpp"

namespace warpsmith::cuda {

Result<Context> Context::open(int index) {
  const auto api = load_api();
  if (!api) return tl::unexpected(api.error());
  CUdevice device = 0;
  if ((*api)->cuDeviceGet(&device, index) != CUDA_SUCCESS) {
    return fail(ErrorCode::not_found, "no GPU number " + std::to_string(index));
  }
  try {
    CUcontext context = nullptr;
    check(**api, (*api)->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(**api, (*api)->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  } catch (const DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
  return Context{**api, device};
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

}  // namespace warpsmith::cuda

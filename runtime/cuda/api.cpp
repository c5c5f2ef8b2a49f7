// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/api.hpp"

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
  const auto driver = Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  Api api;
// Looks up the name that the header renames to: what the driver exports under it fits the
// declaration. (cuGetProcAddress by the plain name may return a newer form than declared.)
#define WARPSMITH_CUDA_NAME(call) #call
#define WARPSMITH_CUDA_TAKE(call)                                                     \
  if (!take(driver->library(), WARPSMITH_CUDA_NAME(call), api.call)) {                \
    return fail(ErrorCode::unsupported, too_old(WARPSMITH_CUDA_NAME(call), *driver)); \
  }
  WARPSMITH_CUDA_CALLS(WARPSMITH_CUDA_TAKE)
#undef WARPSMITH_CUDA_TAKE
#undef WARPSMITH_CUDA_NAME
  return api;
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

}  // namespace warpsmith::cuda

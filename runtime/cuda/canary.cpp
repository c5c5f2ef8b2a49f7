// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/canary.hpp"

#include <cuda.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/canary_image.hpp"
#include "runtime/cuda/cupti_kernels.hpp"

namespace warpsmith::cuda {
namespace {

constexpr int elements = 1 << 20;
constexpr unsigned block = 256;

/// Every entry point of the canary, by the names that the driver exports.
struct Calls {
  decltype(&cuDeviceGet) device_get;
  decltype(&cuDevicePrimaryCtxRetain) retain;
  decltype(&cuDevicePrimaryCtxRelease) release;
  decltype(&cuCtxSetCurrent) set_current;
  decltype(&cuCtxSynchronize) synchronize;
  decltype(&cuModuleLoadData) load;
  decltype(&cuModuleUnload) unload;
  decltype(&cuModuleGetFunction) function;
  decltype(&cuMemAlloc) allocate;
  decltype(&cuMemFree) free;
  decltype(&cuMemcpyHtoD) upload;
  decltype(&cuMemcpyDtoH) download;
  decltype(&cuMemGetInfo) memory;
  decltype(&cuLaunchKernel) launch;
};

/// Looks an entry point up, or throws: a driver without one of these is broken.
template <class Pointer>
void take(const DynamicLibrary& library, const char* name, Pointer& into) {
  into = reinterpret_cast<Pointer>(library.find(name));
  if (into == nullptr) throw std::runtime_error(std::string{"libcuda lacks "} + name);
}

Calls load_calls(const DynamicLibrary& library) {
  Calls calls{};
  take(library, "cuDeviceGet", calls.device_get);
  take(library, "cuDevicePrimaryCtxRetain", calls.retain);
  take(library, "cuDevicePrimaryCtxRelease_v2", calls.release);
  take(library, "cuCtxSetCurrent", calls.set_current);
  take(library, "cuCtxSynchronize", calls.synchronize);
  take(library, "cuModuleLoadData", calls.load);
  take(library, "cuModuleUnload", calls.unload);
  take(library, "cuModuleGetFunction", calls.function);
  take(library, "cuMemAlloc_v2", calls.allocate);
  take(library, "cuMemFree_v2", calls.free);
  take(library, "cuMemcpyHtoD_v2", calls.upload);
  take(library, "cuMemcpyDtoH_v2", calls.download);
  take(library, "cuMemGetInfo_v2", calls.memory);
  take(library, "cuLaunchKernel", calls.launch);
  return calls;
}

void check(const char* call, CUresult code) {
  if (code == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string{call} + " answered error " + std::to_string(code));
}

/// The device's primary context, current on this thread while it lives.
class Context {
 public:
  Context(const Calls& calls, int gpu) : calls_(calls) {
    check("cuDeviceGet", calls_.device_get(&device_, gpu));
    CUcontext context = nullptr;
    check("cuDevicePrimaryCtxRetain", calls_.retain(&context, device_));
    check("cuCtxSetCurrent", calls_.set_current(context));
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    (void)calls_.set_current(nullptr);
    (void)calls_.release(device_);
  }

 private:
  const Calls& calls_;
  CUdevice device_ = 0;
};

class DeviceInts {
 public:
  explicit DeviceInts(const Calls& calls) : calls_(calls) {
    check("cuMemAlloc", calls_.allocate(&address_, elements * sizeof(int)));
  }
  DeviceInts(const DeviceInts&) = delete;
  DeviceInts& operator=(const DeviceInts&) = delete;
  ~DeviceInts() { (void)calls_.free(address_); }
  CUdeviceptr& address() { return address_; }

 private:
  const Calls& calls_;
  CUdeviceptr address_ = 0;
};

class Module {
 public:
  explicit Module(const Calls& calls) : calls_(calls) {
    check("cuModuleLoadData", calls_.load(&module_, canary_image));
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { (void)calls_.unload(module_); }
  CUfunction function() const {
    CUfunction function = nullptr;
    check("cuModuleGetFunction", calls_.function(&function, module_, "warpsmith_canary"));
    return function;
  }

 private:
  const Calls& calls_;
  CUmodule module_ = nullptr;
};

void launch(const Calls& calls, const Module& module, DeviceInts& x, DeviceInts& y) {
  int n = elements;
  void* arguments[] = {&x.address(), &y.address(), &n};
  check("cuLaunchKernel", calls.launch(module.function(), elements / block, 1, 1, block, 1, 1, 0,
                                       nullptr, arguments, nullptr));
  check("cuCtxSynchronize", calls.synchronize());
}

bool kernel_gives_the_right_answer(const Calls& calls) {
  std::vector<int> input(elements);
  std::iota(input.begin(), input.end(), -17);
  const Module module{calls};
  DeviceInts x{calls};
  DeviceInts y{calls};
  check("cuMemcpyHtoD", calls.upload(x.address(), input.data(), elements * sizeof(int)));
  launch(calls, module, x, y);
  std::vector<int> output(elements);
  check("cuMemcpyDtoH", calls.download(output.data(), y.address(), elements * sizeof(int)));
  for (int i = 0; i < elements; ++i) {
    if (output[static_cast<size_t>(i)] != 3 * input[static_cast<size_t>(i)] + i) return false;
  }
  return true;
}

int64_t free_memory(const Calls& calls) {
  size_t free = 0;
  size_t total = 0;
  check("cuMemGetInfo", calls.memory(&free, &total));
  return static_cast<int64_t>(free);
}

Result<void> add_profile(const DynamicLibrary& cupti, CanaryReport& report) {
  const auto records = stop_kernel_records(cupti);
  if (!records) return tl::unexpected(records.error());
  for (const KernelRecord& record : *records) {
    if (record.name.find("warpsmith_canary") == std::string::npos) continue;
    report.kernel_name = record.name;
    report.kernel_us = static_cast<double>(record.duration_ns) / 1000.0;
    report.registers = record.registers;
    return {};
  }
  return fail(ErrorCode::unsupported, "CUPTI has no record of the canary kernel");
}

Result<CanaryReport> run_profiled(const Calls& calls, const DynamicLibrary& cupti, int gpu) {
  CanaryReport report{.elements = elements};
  if (auto started = start_kernel_records(cupti); !started) {
    return tl::unexpected(started.error());
  }
  const Context context{calls, gpu};
  report.free_before = free_memory(calls);
  report.result_correct = kernel_gives_the_right_answer(calls);
  report.free_after = free_memory(calls);
  if (auto profiled = add_profile(cupti, report); !profiled) {
    return tl::unexpected(profiled.error());
  }
  return report;
}

}  // namespace

bool canary_is_built() {
  return true;
}

Result<CanaryReport> run_canary(const Driver& driver, int gpu) {
  const auto cupti = load_cupti();
  if (!cupti) return tl::unexpected(cupti.error());
  try {
    return run_profiled(load_calls(driver.library()), *cupti, gpu);
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace warpsmith::cuda

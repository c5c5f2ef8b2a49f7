// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/canary.hpp"

#include <numeric>
#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/cupti.hpp"
#include "runtime/cuda/device_error.hpp"

namespace warpsmith::cuda {

extern const unsigned char canary_image[];  // canary.cu

namespace {

constexpr int elements = 1 << 20;
constexpr unsigned block = 256;

void launch(const Api& api, CUfunction kernel, CUdeviceptr x, CUdeviceptr y) {
  int n = elements;
  void* arguments[] = {&x, &y, &n};
  check(api,
        api.cuLaunchKernel(kernel, elements / block, 1, 1, block, 1, 1, 0, nullptr, arguments,
                           nullptr),
        "cuLaunchKernel");
  check(api, api.cuCtxSynchronize(), "cuCtxSynchronize");
}

bool canary_result_is_correct(const Api& api) {
  constexpr size_t bytes = elements * sizeof(int);
  std::vector<int> input(elements);
  std::iota(input.begin(), input.end(), -17);
  const KernelModule module{api, canary_image};
  const DeviceMemory x{api, bytes}, y{api, bytes};
  check(api, api.cuMemcpyHtoD(x.address(), input.data(), bytes), "cuMemcpyHtoD");
  launch(api, module.function("warpsmith_canary"), x.address(), y.address());
  std::vector<int> output(elements);
  check(api, api.cuMemcpyDtoH(output.data(), y.address(), bytes), "cuMemcpyDtoH");
  for (int i = 0; i < elements; ++i) {
    if (output[static_cast<size_t>(i)] != 3 * input[static_cast<size_t>(i)] + i) return false;
  }
  return true;
}

Result<void> add_profile(const DynamicLibrary& cupti, CanaryReport& report) {
  TRY(const auto records, stop_kernel_records(cupti));
  for (const KernelRecord& record : records) {
    if (record.name.find("warpsmith_canary") == std::string::npos) continue;
    report.kernel_name = record.name;
    report.kernel_us = static_cast<double>(record.duration_ns) / 1000.0;
    report.registers = static_cast<int>(record.registers);
    return {};
  }
  return fail(ErrorCode::unsupported, "CUPTI has no record of the canary kernel");
}

Result<CanaryReport> run_profiled(const DynamicLibrary& cupti, int gpu) {
  CanaryReport report{.elements = elements};
  TRY_VOID(start_kernel_records(cupti));
  TRY(const auto context, Context::open(gpu));
  const auto free_memory = [&] { return static_cast<int64_t>(context.memory().free); };
  report.free_before = free_memory();
  report.result_correct = canary_result_is_correct(context.api());
  report.free_after = free_memory();
  TRY_VOID(add_profile(cupti, report));
  return report;
}

}  // namespace

bool canary_is_built() {
  return true;
}

Result<CanaryReport> run_canary(int gpu) {
  TRY(const auto cupti, load_cupti());
  try {
    return run_profiled(cupti, gpu);
  } catch (const DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace warpsmith::cuda

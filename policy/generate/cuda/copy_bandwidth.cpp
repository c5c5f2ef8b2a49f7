// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/copy_bandwidth.hpp"

#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/median.hpp"

namespace warpsmith::policy {
namespace {

namespace driver = warpsmith::cuda;

constexpr uint64_t bytes = uint64_t{1} << 30;
constexpr int copies = 11;

double seconds_of_copy(const driver::Api& api, CUdeviceptr from, CUdeviceptr to) {
  const driver::Stream stream = driver::make_stream(api);
  const driver::Event start = driver::make_event(api);
  const driver::Event end = driver::make_event(api);
  driver::check(api, api.cuEventRecord(start.get(), stream.get()), "cuEventRecord");
  driver::check(api, api.cuMemcpyDtoDAsync(to, from, bytes, stream.get()), "cuMemcpyDtoDAsync");
  driver::check(api, api.cuEventRecord(end.get(), stream.get()), "cuEventRecord");
  driver::check(api, api.cuEventSynchronize(end.get()), "cuEventSynchronize");
  float milliseconds = 0;
  driver::check(api, api.cuEventElapsedTime(&milliseconds, start.get(), end.get()),
                "cuEventElapsedTime");
  return static_cast<double>(milliseconds) / 1000;
}

}  // namespace

Result<double> copy_bandwidth(int gpu) {
  const auto context = driver::Context::open(gpu);
  if (!context) return tl::unexpected(context.error());
  try {
    const driver::DeviceMemory from(context->api(), bytes);
    const driver::DeviceMemory to(context->api(), bytes);
    std::vector<double> seconds;
    for (int i = 0; i < copies; ++i) {
      seconds.push_back(seconds_of_copy(context->api(), from.address(), to.address()));
    }
    return 2 * static_cast<double>(bytes) / median(seconds);
  } catch (const driver::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace warpsmith::policy

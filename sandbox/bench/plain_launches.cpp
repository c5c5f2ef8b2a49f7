// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bench/plain_launches.hpp"

#include <future>

#include "runtime/cuda/device_error.hpp"
#include "runtime/median.hpp"
#include "sandbox/launch/kernel_launch.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int empty_calls = 32;

/// Floats of every size without a pattern that memory could compress: the upper bits of a linear
/// congruential generator (Knuth).
std::vector<uint32_t> noise(uint64_t bytes) {
  std::vector<uint32_t> words(bytes / 4);
  uint64_t state = 1;
  for (uint32_t& word : words) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    constexpr uint32_t below_infinity = 0xbfffffffU;  // magnitudes under 2
    word = static_cast<uint32_t>(state >> 32U) & below_infinity;
  }
  return words;
}

class PlainLaunches {
 public:
  PlainLaunches(cuda::Context context, const BoundPlan& plan, const std::string& cubin)
      : context_(std::move(context)),
        api_(context_.api()),
        plan_(plan),
        module_(api_, cubin.data()),
        stream_(cuda::make_stream(api_)),
        start_(cuda::make_event(api_)),
        end_(cuda::make_event(api_)),
        sweep_(api_, 2 * context_.l2_bytes()) {}

  Result<std::vector<double>> time(int calls, const BeforeCall& before) {
    TRY_VOID(prepare());
    (void)once(true);  // triggers lazy loading
    TRY(auto empty, each(empty_calls, false, before));
    TRY(auto taken, each(calls, true, before));
    const double nothing = median(empty);
    for (double& ms : taken) ms -= nothing;
    return taken;
  }

 private:
  Result<std::vector<double>> each(int calls, bool launch, const BeforeCall& before) {
    std::vector<double> taken;
    taken.reserve(static_cast<size_t>(calls));
    for (int i = 0; i < calls; ++i) {
      TRY_VOID(before());
      taken.push_back(once(launch));
    }
    return taken;
  }

  Result<void> prepare() {
    for (const BoundBuffer& buffer : plan_.buffers) {
      memory_.emplace_back(api_, buffer.bytes);
      bases_.push_back(memory_.back().address());
      const auto words = noise(buffer.bytes);
      cuda::check(api_, api_.cuMemcpyHtoD(bases_.back(), words.data(), words.size() * 4),
                  "cuMemcpyHtoD");
    }
    for (const BoundStep& step : plan_.steps) {
      const auto* launch = std::get_if<BoundLaunch>(&step.what);
      if (launch == nullptr) return fail(ErrorCode::unsupported, "plain launches: a library step");
      TRY(auto made, KernelLaunch::prepare(context_, module_, *launch));
      kernels_.push_back(std::move(made));
    }
    return {};
  }

  /// The sweep keeps the device busy until everything after it is queued.
  double once(bool launch) {
    CUstream stream = stream_.get();
    cuda::check(api_, api_.cuMemsetD32Async(sweep_.address(), ++swept_, sweep_.bytes() / 4, stream),
                "cuMemsetD32Async");
    cuda::check(api_, api_.cuEventRecord(start_.get(), stream), "cuEventRecord");
    if (launch) {
      for (const KernelLaunch& kernel : kernels_) kernel.enqueue(stream, bases_, plan_.buffers);
    }
    cuda::check(api_, api_.cuEventRecord(end_.get(), stream), "cuEventRecord");
    cuda::check(api_, api_.cuEventSynchronize(end_.get()), "cuEventSynchronize");
    float milliseconds = 0;
    cuda::check(api_, api_.cuEventElapsedTime(&milliseconds, start_.get(), end_.get()),
                "cuEventElapsedTime");
    return static_cast<double>(milliseconds);
  }

  cuda::Context context_;
  const cuda::Api& api_;
  const BoundPlan& plan_;
  cuda::KernelModule module_;
  cuda::Stream stream_;
  cuda::Event start_, end_;
  cuda::DeviceMemory sweep_;
  unsigned swept_ = 0;
  std::vector<cuda::DeviceMemory> memory_;
  DeviceBases bases_;
  std::vector<KernelLaunch> kernels_;
};

Result<std::vector<double>> time_here(int gpu, const BoundPlan& plan, const std::string& cubin,
                                      int calls, const BeforeCall& before) {
  TRY(auto context, cuda::Context::open(gpu));
  try {
    return PlainLaunches(std::move(context), plan, cubin).time(calls, before);
  } catch (const cuda::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

}  // namespace

Result<std::vector<double>> time_plain_launches(int gpu, const BoundPlan& plan,
                                                const std::string& cubin, int calls,
                                                const BeforeCall& before) {
  const auto timed = [&] { return time_here(gpu, plan, cubin, calls, before); };
  return std::async(std::launch::async, timed).get();
}

}  // namespace warpsmith::sandbox

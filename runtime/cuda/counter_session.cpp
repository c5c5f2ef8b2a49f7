// SPDX-License-Identifier: Apache-2.0
// The caller repeats the call itself ("user replay"): CUPTI's own replay would save and restore
// memory that the candidate may only read, and would start each round with warm caches.
#include "runtime/cuda/counter_session.hpp"

#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "runtime/cuda/api.hpp"
#include "runtime/cuda/counter_config.hpp"
#include "runtime/cuda/cupti_call.hpp"
#include "runtime/cuda/device_error.hpp"

namespace warpsmith::cuda {
namespace {

using Bytes = std::vector<uint8_t>;

struct CurrentContext {
  CUcontext context = nullptr;
  CUdevice device = 0;
};

Result<CurrentContext> current_context() {
  const auto api = load_api();
  if (!api) return tl::unexpected(api.error());
  CurrentContext current;
  check(**api, (*api)->cuCtxGetCurrent(&current.context), "cuCtxGetCurrent");
  if (current.context == nullptr) return fail(ErrorCode::invalid_argument, "no current context");
  check(**api, (*api)->cuCtxGetDevice(&current.device), "cuCtxGetDevice");
  return current;
}

/// CUPTI opens these libraries by their bare names; outside the loader's path it fails.
void open_libraries_beside(const DynamicLibrary& cupti) {
  const std::string folder = cupti.folder();
  for (const char* name : {"/libnvperf_host.so", "/libnvperf_target.so"}) {
    (void)DynamicLibrary::open({folder + name});
  }
}

Result<std::string> chip_of(const DynamicLibrary& cupti, CUdevice device) {
  auto chip = WARPSMITH_CUPTI_PARAMS(CUpti_Device_GetChipName);
  chip.deviceIndex = static_cast<size_t>(device);
  auto done = WARPSMITH_CUPTI(cupti, cuptiDeviceGetChipName, &chip);
  if (!done) return tl::unexpected(std::move(done.error()));
  return std::string(chip.pChipName);
}

Result<Bytes> availability_of(const DynamicLibrary& cupti, CUcontext context) {
  auto params = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability);
  params.ctx = context;
  auto done = WARPSMITH_CUPTI(cupti, cuptiProfilerGetCounterAvailability, &params);
  Bytes image(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image.data();
  if (done) done = WARPSMITH_CUPTI(cupti, cuptiProfilerGetCounterAvailability, &params);
  if (!done) return tl::unexpected(std::move(done.error()));
  return image;
}

Result<CounterConfig> config_of(const DynamicLibrary& cupti, const CurrentContext& current) {
  auto ready = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Initialize);
  if (auto done = WARPSMITH_CUPTI(cupti, cuptiProfilerInitialize, &ready); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  const auto chip = chip_of(cupti, current.device);
  if (!chip) return tl::unexpected(chip.error());
  const auto availability = availability_of(cupti, current.context);
  if (!availability) return tl::unexpected(availability.error());
  return CounterConfig::make(cupti, *chip, *availability);
}

}  // namespace

struct CounterSession::State {
  State(const DynamicLibrary& library, CounterConfig counted)
      : cupti(library), config(std::move(counted)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (profiler == nullptr) return;
    auto params = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Disable);
    params.pRangeProfilerObject = profiler;
    (void)WARPSMITH_CUPTI(cupti, cuptiRangeProfilerDisable, &params);
  }

  Result<void> enable(CUcontext context) {
    auto params = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Enable);
    params.ctx = context;
    auto done = WARPSMITH_CUPTI(cupti, cuptiRangeProfilerEnable, &params);
    if (done) profiler = params.pRangeProfilerObject;
    return done;
  }

  Result<void> make_room(size_t kernels) {
    std::vector<const char*> names = config.metrics();
    auto size = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize);
    size.pRangeProfilerObject = profiler;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = kernels;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(kernels);
    auto done = WARPSMITH_CUPTI(cupti, cuptiRangeProfilerGetCounterDataSize, &size);
    if (!done) return done;
    data.resize(size.counterDataSize);
    auto image = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize);
    image.pRangeProfilerObject = profiler;
    image.counterDataSize = data.size();
    image.pCounterData = data.data();
    return WARPSMITH_CUPTI(cupti, cuptiRangeProfilerCounterDataImageInitialize, &image);
  }

  /// Puts a range around every kernel; the caller makes the call once per pass.
  Result<void> configure(size_t kernels) {
    auto params = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig);
    params.pRangeProfilerObject = profiler;
    params.configSize = config.image().size();
    params.pConfig = config.image().data();
    params.counterDataImageSize = data.size();
    params.pCounterDataImage = data.data();
    params.range = CUPTI_AutoRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = kernels;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    return WARPSMITH_CUPTI(cupti, cuptiRangeProfilerSetConfig, &params);
  }

  DynamicLibrary cupti;
  CounterConfig config;
  CUpti_RangeProfiler_Object* profiler = nullptr;
  Bytes data;
};

CounterSession::CounterSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
CounterSession::CounterSession(CounterSession&&) noexcept = default;
CounterSession::~CounterSession() = default;

Result<CounterSession> CounterSession::open(const DynamicLibrary& cupti, size_t kernels) {
  const auto current = current_context();
  if (!current) return tl::unexpected(current.error());
  open_libraries_beside(cupti);
  auto config = config_of(cupti, *current);
  if (!config) return tl::unexpected(std::move(config.error()));
  auto state = std::make_unique<State>(cupti, std::move(*config));
  auto done = state->enable(current->context);
  if (done) done = state->make_room(kernels);
  if (done) done = state->configure(kernels);
  if (!done) return tl::unexpected(std::move(done.error()));
  return CounterSession{std::move(state)};
}

Result<void> CounterSession::begin() {
  auto params = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Start);
  params.pRangeProfilerObject = state_->profiler;
  return WARPSMITH_CUPTI(state_->cupti, cuptiRangeProfilerStart, &params);
}

Result<bool> CounterSession::end() {
  auto params = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Stop);
  params.pRangeProfilerObject = state_->profiler;
  auto done = WARPSMITH_CUPTI(state_->cupti, cuptiRangeProfilerStop, &params);
  if (!done) return tl::unexpected(std::move(done.error()));
  return params.isAllPassSubmitted == 0;
}

Result<std::vector<KernelCounters>> CounterSession::read() {
  auto decoded = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData);
  decoded.pRangeProfilerObject = state_->profiler;
  auto done = WARPSMITH_CUPTI(state_->cupti, cuptiRangeProfilerDecodeData, &decoded);
  auto found = WARPSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo);
  found.pCounterDataImage = state_->data.data();
  found.counterDataImageSize = state_->data.size();
  if (done) done = WARPSMITH_CUPTI(state_->cupti, cuptiRangeProfilerGetCounterDataInfo, &found);
  if (!done) return tl::unexpected(std::move(done.error()));
  if (decoded.numOfRangeDropped > 0) {
    return fail(ErrorCode::capacity,
                "the call launched more kernels than the session has room for");
  }
  std::vector<KernelCounters> all;
  for (size_t range = 0; range < found.numTotalRanges; ++range) {
    auto counters = state_->config.evaluate(state_->data, range);
    if (!counters) return tl::unexpected(std::move(counters.error()));
    all.push_back(*counters);
  }
  return all;
}

Result<std::vector<KernelCounters>> count_call(const DynamicLibrary& cupti, size_t kernels,
                                               const std::function<void()>& before,
                                               const std::function<void()>& call) {
  auto session = CounterSession::open(cupti, kernels);
  if (!session) return tl::unexpected(std::move(session.error()));
  for (bool more = true; more;) {
    before();
    if (auto begun = session->begin(); !begun) return tl::unexpected(std::move(begun.error()));
    call();
    const auto ended = session->end();
    if (!ended) return tl::unexpected(ended.error());
    more = *ended;
  }
  return session->read();
}

}  // namespace warpsmith::cuda

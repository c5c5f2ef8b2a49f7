// SPDX-License-Identifier: Apache-2.0
// The caller repeats the call itself ("user replay"), because CUPTI's replay would save and restore
// memory that the candidate may only read, and would start each round with warm caches.
#include "runtime/cuda/counter_session.hpp"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <algorithm>
#include <cmath>

#include "runtime/cuda/context.hpp"
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
  TRY(const auto api, load_api());
  CurrentContext current;
  check(*api, api->cuCtxGetCurrent(&current.context), "cuCtxGetCurrent");
  if (current.context == nullptr) return fail(ErrorCode::invalid_argument, "no current context");
  check(*api, api->cuCtxGetDevice(&current.device), "cuCtxGetDevice");
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
  TRY_VOID(WARPSMITH_CUPTI(cupti, cuptiDeviceGetChipName, &chip));
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
  TRY_VOID(WARPSMITH_CUPTI(cupti, cuptiProfilerInitialize, &ready));
  TRY(const auto chip, chip_of(cupti, current.device));
  TRY(const auto availability, availability_of(cupti, current.context));
  return CounterConfig::make(cupti, chip, availability);
}

}  // namespace

Result<CounterConfig> CounterConfig::make(const DynamicLibrary& cupti, const std::string& chip,
                                          std::span<const uint8_t> availability) {
  auto made = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize);
  made.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  made.pChipName = chip.c_str();
  made.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  if (auto done = WARPSMITH_CUPTI(cupti, cuptiProfilerHostInitialize, &made); !done) {
    return fail("counters of chip " + chip, std::move(done.error()));
  }
  const auto release = [cupti](CUpti_Profiler_Host_Object* host) {
    auto params = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize);
    params.pHostObject = host;
    (void)WARPSMITH_CUPTI(cupti, cuptiProfilerHostDeinitialize, &params);
  };
  CounterConfig config(cupti, Host{made.pHostObject, release});
  TRY_VOID(config.choose());
  TRY_VOID(config.make_image());
  return config;
}

Result<std::vector<std::string>> CounterConfig::base_metrics() const {
  auto names = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetBaseMetrics);
  names.pHostObject = host_.get();
  names.metricType = CUPTI_METRIC_TYPE_COUNTER;
  TRY_VOID(WARPSMITH_CUPTI(cupti_, cuptiProfilerHostGetBaseMetrics, &names));
  return std::vector<std::string>(names.ppMetricNames, names.ppMetricNames + names.numMetrics);
}

Result<void> CounterConfig::choose() {
  TRY(const auto known, base_metrics());
  TRY(auto terms, counter_terms(known));
  terms_ = std::move(terms);
  std::ranges::transform(terms_, std::back_inserter(metrics_),
                         [](const CounterTerm& term) { return term.metric.c_str(); });
  auto chosen = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics);
  chosen.pHostObject = host_.get();
  chosen.ppMetricNames = metrics_.data();
  chosen.numMetrics = metrics_.size();
  return WARPSMITH_CUPTI(cupti_, cuptiProfilerHostConfigAddMetrics, &chosen);
}

Result<void> CounterConfig::make_image() {
  auto size = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = host_.get();
  TRY_VOID(WARPSMITH_CUPTI(cupti_, cuptiProfilerHostGetConfigImageSize, &size));
  image_.resize(size.configImageSize);
  auto image = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage);
  image.pHostObject = host_.get();
  image.configImageSize = image_.size();
  image.pConfigImage = image_.data();
  return WARPSMITH_CUPTI(cupti_, cuptiProfilerHostGetConfigImage, &image);
}

Result<KernelCounters> CounterConfig::evaluate(std::span<const uint8_t> data, size_t range) const {
  std::vector<double> values(metrics_.size());
  std::vector<const char*> names = metrics_;
  auto params = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues);
  params.pHostObject = host_.get();
  params.pCounterDataImage = data.data();
  params.counterDataImageSize = data.size();
  params.rangeIndex = range;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  TRY_VOID(WARPSMITH_CUPTI(cupti_, cuptiProfilerHostEvaluateToGpuValues, &params));
  const auto missing = std::ranges::find_if(values, [](double one) { return !std::isfinite(one); });
  if (missing == values.end()) return counters_of(terms_, values);
  return fail(ErrorCode::unsupported, std::string("the GPU did not count ") +
                                          metrics_[static_cast<size_t>(missing - values.begin())]);
}

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
    TRY_VOID(WARPSMITH_CUPTI(cupti, cuptiRangeProfilerGetCounterDataSize, &size));
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
  TRY(const auto current, current_context());
  open_libraries_beside(cupti);
  TRY(auto config, config_of(cupti, current));
  auto state = std::make_unique<State>(cupti, std::move(config));
  auto done = state->enable(current.context);
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
  TRY_VOID(WARPSMITH_CUPTI(state_->cupti, cuptiRangeProfilerStop, &params));
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
    TRY(auto counters, state_->config.evaluate(state_->data, range));
    all.push_back(counters);
  }
  return all;
}

Result<std::vector<KernelCounters>> count_call(const DynamicLibrary& cupti, size_t kernels,
                                               const std::function<void()>& before,
                                               const std::function<void()>& call) {
  TRY(auto session, CounterSession::open(cupti, kernels));
  for (bool more = true; more;) {
    before();
    TRY_VOID(session.begin());
    call();
    TRY(const auto ended, session.end());
    more = ended;
  }
  return session.read();
}

}  // namespace warpsmith::cuda

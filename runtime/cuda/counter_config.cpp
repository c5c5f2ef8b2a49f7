// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/counter_config.hpp"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>

#include <algorithm>
#include <cmath>

#include "runtime/cuda/cupti_call.hpp"

namespace warpsmith::cuda {

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
  if (auto done = config.choose(); !done) return tl::unexpected(std::move(done.error()));
  if (auto done = config.make_image(); !done) return tl::unexpected(std::move(done.error()));
  return config;
}

Result<std::vector<std::string>> CounterConfig::base_metrics() const {
  auto names = WARPSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetBaseMetrics);
  names.pHostObject = host_.get();
  names.metricType = CUPTI_METRIC_TYPE_COUNTER;
  auto done = WARPSMITH_CUPTI(cupti_, cuptiProfilerHostGetBaseMetrics, &names);
  if (!done) return tl::unexpected(std::move(done.error()));
  return std::vector<std::string>(names.ppMetricNames, names.ppMetricNames + names.numMetrics);
}

Result<void> CounterConfig::choose() {
  const auto known = base_metrics();
  if (!known) return tl::unexpected(known.error());
  auto terms = counter_terms(*known);
  if (!terms) return tl::unexpected(std::move(terms.error()));
  terms_ = std::move(*terms);
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
  auto done = WARPSMITH_CUPTI(cupti_, cuptiProfilerHostGetConfigImageSize, &size);
  if (!done) return done;
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
  auto done = WARPSMITH_CUPTI(cupti_, cuptiProfilerHostEvaluateToGpuValues, &params);
  if (!done) return tl::unexpected(std::move(done.error()));
  const auto missing = std::ranges::find_if(values, [](double one) { return !std::isfinite(one); });
  if (missing == values.end()) return counters_of(terms_, values);
  return fail(ErrorCode::unsupported, std::string("the GPU did not count ") +
                                          metrics_[static_cast<size_t>(missing - values.begin())]);
}

}  // namespace warpsmith::cuda

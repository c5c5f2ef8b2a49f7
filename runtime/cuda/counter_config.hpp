// SPDX-License-Identifier: Apache-2.0
// The metrics to count on a chip and how to evaluate them: the part of CUPTI's range profiler that
// needs no GPU. For sources built with the toolkit only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/counter_terms.hpp"
#include "runtime/cuda/dynamic_library.hpp"

struct CUpti_Profiler_Host_Object;

namespace warpsmith::cuda {

class CounterConfig {
 public:
  /// `chip` is CUPTI's name ("GH100"), `availability` the driver's image, empty if there is none.
  /// `unsupported` if CUPTI does not support the chip, or the chip lacks a counter.
  static Result<CounterConfig> make(const DynamicLibrary& cupti, const std::string& chip,
                                    std::span<const uint8_t> availability);

  std::span<const uint8_t> image() const { return image_; }
  const std::vector<const char*>& metrics() const { return metrics_; }
  /// The counters of one kernel (`range`) in a counter data image that CUPTI filled.
  Result<KernelCounters> evaluate(std::span<const uint8_t> data, size_t range) const;

 private:
  using Host =
      std::unique_ptr<CUpti_Profiler_Host_Object, std::function<void(CUpti_Profiler_Host_Object*)>>;
  CounterConfig(const DynamicLibrary& cupti, Host host) : cupti_(cupti), host_(std::move(host)) {}
  Result<std::vector<std::string>> base_metrics() const;
  Result<void> choose();
  Result<void> make_image();

  DynamicLibrary cupti_;
  Host host_;
  std::vector<CounterTerm> terms_;
  std::vector<const char*> metrics_;  // into terms_
  std::vector<uint8_t> image_;
};

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
// Counts the work of each kernel of one call with CUPTI's range profiler. For sources built with
// the toolkit only.
//
// Kernels run one after the other while they are counted, so their times are meaningless.
// Meanwhile, record no activity (instructions would count as 0) and launch no graph (CUPTI 13
// refuses it).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/counter_terms.hpp"
#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

struct CUpti_Profiler_Host_Object;

namespace warpsmith::cuda {

/// The metrics to count on a chip and how to evaluate them: the part of the range profiler that
/// needs no GPU.
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

/// Counts in rounds: a GPU counts few metrics at once, so the call is repeated.
class CounterSession {
 public:
  /// Opens a session in the context that is current on this thread, for calls of at most `kernels`
  /// kernels. `unsupported` if CUPTI or the GPU refuses: no permission, another profiler, or a chip
  /// that lacks a counter.
  static Result<CounterSession> open(const DynamicLibrary& cupti, size_t kernels);
  CounterSession(CounterSession&&) noexcept;
  CounterSession& operator=(CounterSession&&) = delete;
  /// Leaves the context as it was before.
  ~CounterSession();

  /// Starts a round. The caller then makes the call, the same in every round, waits for it, and
  /// calls `end`. Work that must not be counted must have ended before `begin`.
  Result<void> begin();
  /// Ends a round; returns true if another one is needed.
  Result<bool> end();
  /// One entry per kernel, in order of launches; to be called after the last round. `capacity` if
  /// there were more kernels than `open` was given.
  Result<std::vector<KernelCounters>> read();

 private:
  struct State;
  explicit CounterSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Runs all rounds: `before` before each round, `call` within it. Both must wait for the work that
/// they launch.
Result<std::vector<KernelCounters>> count_call(const DynamicLibrary& cupti, size_t kernels,
                                               const std::function<void()>& before,
                                               const std::function<void()>& call);

}  // namespace warpsmith::cuda

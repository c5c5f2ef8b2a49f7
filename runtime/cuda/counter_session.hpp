// SPDX-License-Identifier: Apache-2.0
// Counts what each kernel of one call does, by CUPTI's range profiler. Sources built with the
// toolkit only.
//
// Kernels run one after the other while they are counted: their times mean nothing. No activity may
// be recorded meanwhile (instructions then count as 0), and no graph launched: CUPTI 13 refuses it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/cuda/kernel_counters.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

class CounterSession {
 public:
  /// In the context that is current on this thread, for calls of at most `kernels` kernels.
  /// `unsupported` where CUPTI or this GPU refuses: no permission, another profiler, a chip that
  /// lacks a counter.
  static Result<CounterSession> open(const DynamicLibrary& cupti, size_t kernels);
  CounterSession(CounterSession&&) noexcept;
  CounterSession& operator=(CounterSession&&) = delete;
  /// The context is as it was.
  ~CounterSession();

  /// A round: the same call is made between `begin` and `end`, and has ended by then, as what must
  /// not be counted has by `begin`.
  Result<void> begin();
  /// Whether another round is needed.
  Result<bool> end();
  /// One entry for each kernel, in order of launches, after the last round. `capacity` where there
  /// were more kernels than `open` was told.
  Result<std::vector<KernelCounters>> read();

 private:
  struct State;
  explicit CounterSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// All rounds: `before` is run ahead of each, `call` in it. Both wait until what they launch ended.
Result<std::vector<KernelCounters>> count_call(const DynamicLibrary& cupti, size_t kernels,
                                               const std::function<void()>& before,
                                               const std::function<void()>& call);

}  // namespace warpsmith::cuda

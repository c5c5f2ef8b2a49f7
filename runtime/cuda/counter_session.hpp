// SPDX-License-Identifier: Apache-2.0
// Counts the work of each kernel of one call with CUPTI's range profiler. For sources built with
// the toolkit only.
//
// Kernels run one after the other while they are counted: their times mean nothing. Meanwhile,
// record no activity (instructions would count as 0) and launch no graph (CUPTI 13 refuses it).
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
  /// Opens a session in the context that is current on this thread, for calls of at most `kernels`
  /// kernels. `unsupported` if CUPTI or the GPU refuses: no permission, another profiler, or a chip
  /// that lacks a counter.
  static Result<CounterSession> open(const DynamicLibrary& cupti, size_t kernels);
  CounterSession(CounterSession&&) noexcept;
  CounterSession& operator=(CounterSession&&) = delete;
  /// Leaves the context as it was before.
  ~CounterSession();

  /// Starts a round. The caller then makes the call, the same in every round, waits for it, and
  /// calls `end`. Work that must not be counted has ended before `begin`.
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

/// Runs all rounds: `before` ahead of each, `call` in it. Both must wait for what they launch.
Result<std::vector<KernelCounters>> count_call(const DynamicLibrary& cupti, size_t kernels,
                                               const std::function<void()>& before,
                                               const std::function<void()>& call);

}  // namespace warpsmith::cuda

// SPDX-License-Identifier: Apache-2.0
// Decides what follows a failed try. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "sandbox/failure/failure.hpp"

namespace warpsmith::sandbox {

enum class RetryDecision : uint8_t {
  verdict,  // the candidate's failing class
  refusal,  // of the task
  retry,    // with a fresh worker
  failure,  // the caller gets the failure
};

struct FailedTry {
  Blame blame = Blame::machine;
  bool time_left = true;      // until the caller's deadline
  size_t baselines = 0;       // further baselines that the next try would have
  bool ended_worker = false;  // the task ended its worker
  bool noise = false;         // all went well, but the times decide nothing
};

/// The tries of one task or candidate. One retry follows a fault of the machine, two follow noise.
/// Dropping a further baseline restarts the worker without using up that retry.
class RetryPolicy {
 public:
  /// `baselines`: further baselines of the first try.
  explicit RetryPolicy(size_t baselines) : baselines_(baselines) {}

  RetryDecision after(const FailedTry& failed) {
    if (failed.blame == Blame::candidate) return RetryDecision::verdict;
    if (failed.blame == Blame::task) return RetryDecision::refusal;
    if (failed.blame == Blame::deadline) return RetryDecision::failure;
    constexpr int most_noisy_retries = 2;
    if (failed.noise) {
      const bool again = failed.time_left && noisy_++ < most_noisy_retries;
      return again ? RetryDecision::retry : RetryDecision::failure;
    }
    const bool dropped = failed.baselines < std::exchange(baselines_, failed.baselines);
    // A fresh worker ended too, so the task is to blame.
    if (retried_ && !dropped && failed.ended_worker) return RetryDecision::refusal;
    if (!failed.time_left || (retried_ && !dropped)) return RetryDecision::failure;
    if (!dropped) retried_ = true;
    return RetryDecision::retry;
  }

 private:
  size_t baselines_;
  bool retried_ = false;
  int noisy_ = 0;
};

}  // namespace warpsmith::sandbox

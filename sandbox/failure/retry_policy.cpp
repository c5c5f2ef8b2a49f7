// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/retry_policy.hpp"

#include <utility>

namespace warpsmith::sandbox {

Next RetryPolicy::after(const FailedTry& failed) {
  if (failed.blame == Blame::candidate) return Next::verdict;
  if (failed.blame == Blame::task) return Next::refusal;
  if (failed.blame == Blame::deadline) return Next::failure;
  constexpr int most_noisy_retries = 2;
  if (failed.noise) {
    return failed.time_left && noisy_++ < most_noisy_retries ? Next::retry : Next::failure;
  }
  const bool dropped = failed.baselines < std::exchange(baselines_, failed.baselines);
  // A fresh worker ended too, so the task is to blame.
  if (retried_ && !dropped && failed.ended_worker) return Next::refusal;
  if (!failed.time_left || (retried_ && !dropped)) return Next::failure;
  if (!dropped) retried_ = true;
  return Next::retry;
}

}  // namespace warpsmith::sandbox

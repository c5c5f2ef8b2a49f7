// SPDX-License-Identifier: Apache-2.0
// Forwards of a trajectory that still runs: values and proximal log-probabilities of each segment
// as it arrives, with the prefix kept, so that only the gradient is left to do at the end.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/model/sequence_cache.hpp"

namespace warpsmith::policy {

/// What is kept of one trajectory between its segments. Forgetting it frees the memory.
class KeptPrefix {
 public:
  explicit KeptPrefix(const ActorCritic& networks);

  int64_t length() const { return policy_.length(); }
  int64_t bytes() const;

  /// Runs all tokens of `held` beyond the kept ones, and fills its proximal log-probabilities and
  /// values from token `scored` on. With `refresh`, a prefix that older weights made is computed
  /// anew first, which makes π_p exact; without, its keys and values stay, as they do in the
  /// generator.
  void extend(const ActorCritic& networks, HeldTrajectory& held, WeightsMark mark, bool refresh);
  /// Frees the caches; the next `extend` runs the whole trajectory again.
  void restart();

 private:
  /// Hidden states of tokens [first, size) of `held`, before them the row that was kept.
  at::Tensor continue_body(const Transformer& body, SequenceCache& cache, at::Tensor& last,
                           const HeldTrajectory& held) const;

  ModelConfig config_;
  SequenceCache policy_;
  std::optional<SequenceCache> critic_;
  at::Tensor policy_last_;  // (1, H) hidden state of the last token; undefined at the start
  at::Tensor critic_last_;
  uint64_t oldest_updates_ = 0;  // of the weights that made the oldest part
};

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Streamed forwards: values and proximal log-probabilities of each segment as it arrives, with the
// prefix kept. When the trajectory ends, only the gradient is left to compute.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/model/sequence_cache.hpp"

namespace warpsmith::policy {

/// The keys and values of one trajectory's tokens so far, for policy and critic.
class KeptPrefix {
 public:
  explicit KeptPrefix(const ActorCritic& networks);

  int64_t length() const { return policy_.length(); }
  /// Bytes on the device that computes, now or once `tokens` are kept.
  int64_t bytes() const { return bytes_with(length()); }
  int64_t bytes_with(int64_t tokens) const;
  /// Bytes of host memory, once it moved there.
  int64_t host_bytes_with(int64_t tokens) const;
  void move_to_host();

  /// Runs the tokens of `held` beyond the kept ones, and fills its proximal log-probabilities and
  /// values from token `scored` on. With `refresh`, recomputes a prefix of older weights first,
  /// which makes π_p exact; otherwise keeps its keys and values, as the generator does. A critic
  /// with a body of its own computes on `beside`: few queries over a long prefix leave room on a
  /// GPU.
  void extend(const ActorCritic& networks, HeldTrajectory& held, WeightsMark mark, bool refresh,
              const SideStream& beside);

 private:
  /// Clears the caches and leaves them where they are.
  void restart();
  /// The kept last row, if any, and the hidden states of the tokens of `held` after it.
  at::Tensor continue_body(const Transformer& body, SequenceCache& cache, at::Tensor& last,
                           const HeldTrajectory& held) const;
  /// The rows of the policy and of the values; those of a shared body are the same.
  std::array<at::Tensor, 2> continue_bodies(const ActorCritic& networks, const HeldTrajectory& held,
                                            const SideStream& beside);

  ModelConfig config_;
  at::TensorOptions computed_;  // type and device
  SequenceCache policy_;
  std::optional<SequenceCache> critic_;
  at::Tensor policy_last_;  // (1, H) hidden state of the last token; undefined at the start
  at::Tensor critic_last_;
  uint64_t oldest_updates_ = 0;  // WeightsMark::updates of the oldest part's weights
};

}  // namespace warpsmith::policy

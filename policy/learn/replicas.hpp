// SPDX-License-Identifier: Apache-2.0
// The networks that a learner trains, once on each of its ranks, and their optimiser. All ranks
// have equal parameters between two updates. With one rank, its work is done by the caller.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/ranks/rank_group.hpp"
#include "policy/learn/shards.hpp"

namespace warpsmith::policy {

/// What one rank owns.
struct Replica {
  ActorCritic networks;
  /// The policy of the KL term; only with loss.kl > 0. With adapters it is the frozen weights.
  std::optional<Transformer> reference;
};

class Replicas {
 public:
  /// One rank.
  Replicas(const OptimizerConfig& config, Replica first);
  /// Copies of `first` on `others`, the devices of all further ranks of `group`.
  Replicas(const OptimizerConfig& config, Replica first, std::span<const at::Device> others,
           std::unique_ptr<RankGroup> group);

  size_t size() const { return replicas_.size(); }
  const Replica& operator[](size_t rank) const { return replicas_[rank]; }
  const Replica& first() const { return replicas_.front(); }
  Replica& first() { return replicas_.front(); }

  /// Does `work` on all ranks at the same time; see RankGroup::run.
  void run(const std::function<void(size_t rank)>& work);

  /// Sums the gradients over the ranks. Returns the norm of each group of parameter_groups.hpp.
  std::vector<double> sum_gradients();
  /// One update from the summed gradients times `scale`, with a rate and the finite norm of each
  /// group. Clears the gradients.
  void update(std::span<const double> rates, double scale, std::span<const double> norms);
  void clear_gradients();

  /// The optimiser's whole state, copied to the host: the same map for any number of ranks.
  WeightMap optimiser_state() const;
  Result<void> restore_optimiser(const WeightMap& state);
  /// Brings all ranks to the first one's parameters, after those were replaced.
  void spread();

 private:
  std::vector<Replica> replicas_;
  std::vector<Shards> shards_;     // of each rank; none with one
  std::vector<AdamW> optimisers_;  // of each rank's shards; with one, of everything
  std::unique_ptr<RankGroup> group_;
  Shards::Which summed_;  // the parameters of this update
};

}  // namespace warpsmith::policy

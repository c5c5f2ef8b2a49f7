// SPDX-License-Identifier: Apache-2.0
// The networks that a learner trains, once on each of its ranks, and their optimiser. Every rank
// has all parameters and updates its part of each (ZeRO stage 1; Rajbhandari et al., arXiv
// 1910.02054, section 5), so all have equal parameters between two updates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/ranks/rank_group.hpp"

namespace warpsmith::policy {

/// The elements [first, first + count) of a flat parameter that belong to a rank. All ranks have
/// parts of `part` elements, of which the last ones may be short or empty.
struct ShardRange {
  int64_t part = 0;
  int64_t first = 0;
  int64_t count = 0;
};
ShardRange shard_range(int64_t elements, size_t rank, size_t ranks);

/// One rank's parameters and its shards of them.
class Shards {
 public:
  /// One flag per parameter, over all groups in order.
  using Which = std::vector<bool>;

  Shards(std::vector<ParameterGroup> whole, size_t rank, size_t ranks);

  /// The shards, under the names of their parameters: views, (1, count) of a matrix, so that it
  /// decays like one, and (count) of a vector. Empty ones are left out.
  std::vector<ParameterGroup> own() const;

  Which with_gradient() const;
  /// Every rank calls it with the same flags: sums the gradients of those parameters over the
  /// ranks, and sets those of the shards. A rank without a gradient adds zeros.
  void reduce_gradients(const Which& which, Collective& collective);
  /// Likewise: completes those parameters, of which each rank has updated its shard.
  void gather(const Which& which, Collective& collective);
  void clear_gradients();

  /// Copies the state of an optimiser of `own` into the whole state `all`, on the host.
  void add_state(const WeightMap& own, WeightMap& all) const;
  /// The part of a whole state that belongs to `own`. Entries of other shapes stay as they are.
  WeightMap own_state(const WeightMap& all) const;

 private:
  struct Entry {
    at::Tensor parameter;
    at::Tensor shard;  // undefined if empty
    std::string name;  // "GROUP/NAME", of its moments
  };
  ShardRange range_of(const at::Tensor& parameter) const;
  /// Part of this rank of a buffer for all.
  at::Tensor part_of(const at::Tensor& all) const;

  size_t rank_, ranks_;
  std::vector<ParameterGroup> groups_;
  std::vector<Entry> entries_;
};

/// The state owned by one rank.
struct Replica {
  ActorCritic networks;
  /// The policy of the KL term; only with loss.kl > 0. With adapters it is the frozen weights.
  std::optional<Transformer> reference;
};

/// All ranks. A single rank runs on the caller's thread.
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

  /// Sums the gradients over the ranks. Returns the norm of each group of `parameter_groups`.
  std::vector<double> sum_gradients();
  /// One update from the summed gradients times `scale`, with a rate and the finite norm of each
  /// group. Clears the gradients.
  void update(std::span<const double> rates, double scale, std::span<const double> norms);
  void clear_gradients();

  /// The optimiser's whole state, copied to the host: the same map for any number of ranks.
  WeightMap optimiser_state() const;
  Result<void> restore_optimiser(const WeightMap& state);
  /// Copies the first rank's parameters to all ranks, after those were replaced.
  void spread();

 private:
  std::vector<Replica> replicas_;
  std::vector<Shards> shards_;     // of each rank; none with one
  std::vector<AdamW> optimisers_;  // of each rank's shards; with one, of everything
  std::unique_ptr<RankGroup> group_;
  Shards::Which summed_;  // the parameters of this update
};

}  // namespace warpsmith::policy

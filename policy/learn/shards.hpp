// SPDX-License-Identifier: Apache-2.0
// How ranks share an optimiser's work (ZeRO stage 1; Rajbhandari et al., arXiv 1910.02054, section
// 5): every rank holds all parameters, and updates its part of each.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace warpsmith::policy

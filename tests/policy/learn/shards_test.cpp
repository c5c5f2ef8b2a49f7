// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/shards.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "policy/learn/pack_split.hpp"
#include "policy/learn/ranks/threaded_group.hpp"

namespace warpsmith::policy {
namespace {

at::Tensor numbers(std::vector<int64_t> sizes, double first) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return (at::arange(count, at::kFloat) + first).view(sizes).requires_grad_();
}

/// A matrix of 10 elements, a vector of 3 and one of 1.
std::vector<ParameterGroup> parameters() {
  return {{"policy", {{"matrix", numbers({2, 5}, 0)}, {"vector", numbers({3}, 20)}}},
          {"critic", {{"bias", numbers({1}, 30)}}}};
}

TEST(ShardsTest, RangesCoverEveryElementOnce) {
  for (const int64_t elements : {1, 2, 3, 7, 8, 1000}) {
    for (const size_t ranks : {1U, 2U, 3U, 8U}) {
      int64_t next = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const ShardRange range = shard_range(elements, rank, ranks);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.count, range.part);
        next += range.count;
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(ShardsTest, ShardsAreViewsThatDecayLikeTheirParameters) {
  const auto whole = parameters();
  const auto own = Shards{whole, 1, 4}.own();
  ASSERT_EQ(own[0].parameters.size(), 2U);
  EXPECT_EQ(own[0].parameters[0].second.dim(), 2) << "a matrix decays";
  EXPECT_EQ(own[0].parameters[1].second.dim(), 1);
  EXPECT_TRUE(own[1].parameters.empty()) << "the only element belongs to rank 0";
  EXPECT_EQ(own[0].parameters[0].second.data_ptr<float>(),
            whole[0].parameters[0].second.data_ptr<float>() + 3);
}

TEST(ShardsTest, GradientsAreSummedAndUpdatesReachEveryRank) {
  constexpr size_t ranks = 3;
  const auto group = make_rank_group({.devices = {ranks, at::Device(at::kCPU)},
                                      .threads = 1,
                                      .timeout = std::chrono::milliseconds{20'000}});
  std::vector<std::vector<ParameterGroup>> whole;
  std::vector<Shards> shards;
  for (size_t rank = 0; rank < ranks; ++rank) {
    whole.push_back(parameters());
    shards.emplace_back(whole.back(), rank, ranks);
  }
  for (size_t rank = 0; rank < 2; ++rank) {  // the third has none
    const at::Tensor& matrix = whole[rank][0].parameters[0].second;
    matrix.mutable_grad() = at::full_like(matrix, static_cast<double>(rank + 1));
  }
  const Shards::Which which = shards[0].with_gradient();
  group->run([&](size_t rank, Collective& collective) {
    shards[rank].reduce_gradients(which, collective);
    const auto own = shards[rank].own();
    at::Tensor shard = own[0].parameters[0].second;
    shard.sub_(shard.grad());
    EXPECT_FALSE(own[0].parameters[1].second.grad().defined());
    shards[rank].clear_gradients();
    shards[rank].gather(which, collective);
  });
  const at::Tensor expected = parameters()[0].parameters[0].second - 3;
  for (const auto& groups : whole) {
    EXPECT_TRUE(groups[0].parameters[0].second.equal(expected));
    EXPECT_FALSE(groups[0].parameters[0].second.grad().defined());
  }
}

TEST(ShardsTest, StateIsTheSameForAnyNumberOfRanks) {
  WeightMap all;
  for (const auto& group : parameters()) {
    for (const auto& [name, parameter] : group.parameters) {
      all[group.name + "/" + name + ".exp_avg"] = parameter.detach() + 100;
      all[group.name + "/" + name + ".exp_avg_sq"] = parameter.detach() + 200;
    }
  }
  WeightMap joined;
  for (size_t rank = 0; rank < 3; ++rank) {
    const Shards shards{parameters(), rank, 3};
    shards.add_state(shards.own_state(all), joined);
  }
  ASSERT_EQ(joined.size(), all.size());
  for (const auto& [name, tensor] : all) EXPECT_TRUE(joined.at(name).equal(tensor)) << name;
}

TEST(PackSplitTest, TrajectoriesGoToTheRankWithTheFewestTokens) {
  PackSplit split{2, 100};
  const auto take = [&](int64_t tokens) -> int {
    const auto rank = split.rank_for(tokens);
    if (!rank) return -1;
    split.add(*rank, tokens);
    return static_cast<int>(*rank);
  };
  EXPECT_EQ(take(60), 0);
  EXPECT_EQ(take(200), 1) << "longer than a pack: one of its own";
  EXPECT_EQ(take(40), 0);
  EXPECT_EQ(take(1), -1) << "both are full";
}

}  // namespace
}  // namespace warpsmith::policy

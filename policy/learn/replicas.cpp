// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/replicas.hpp"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "policy/learn/parameter_groups.hpp"

namespace warpsmith::policy {
namespace {

constexpr size_t groups = 2;  // see parameter_groups.hpp

Replica replica_on(const Replica& from, at::Device device) {
  Replica copy{from.networks.copy_on(device), std::nullopt};
  if (!from.reference) return copy;
  const auto& lora = copy.networks.lora();
  copy.reference =
      lora ? Transformer{copy.networks.config(), lora->frozen(copy.networks.actor().weights())}
           : from.reference->copy_on(device);
  return copy;
}

}  // namespace

Replicas::Replicas(const OptimizerConfig& config, Replica first) {
  optimisers_.emplace_back(config, parameter_groups(first.networks));
  replicas_.push_back(std::move(first));
}

Replicas::Replicas(const OptimizerConfig& config, Replica first, std::span<const at::Device> others,
                   std::unique_ptr<RankGroup> group)
    : group_(std::move(group)) {
  replicas_.push_back(std::move(first));
  for (const at::Device device : others) {
    replicas_.push_back(replica_on(replicas_.front(), device));
  }
  for (size_t rank = 0; rank < size(); ++rank) {
    shards_.emplace_back(parameter_groups(replicas_[rank].networks), rank, size());
    optimisers_.emplace_back(config, shards_.back().own());
  }
}

void Replicas::run(const std::function<void(size_t)>& work) {
  if (!group_) return work(0);
  group_->run([&](size_t rank, Collective& /*unused*/) { work(rank); });
}

std::vector<double> Replicas::sum_gradients() {
  std::vector<double> squares(groups, 0);
  if (!group_) {
    for (size_t g = 0; g < groups; ++g) squares[g] = optimisers_.front().gradient_norm(g);
    return squares;
  }
  summed_.assign(shards_.front().with_gradient().size(), false);
  for (const Shards& shards : shards_) {
    const Shards::Which which = shards.with_gradient();
    for (size_t i = 0; i < which.size(); ++i) summed_[i] = summed_[i] || which[i];
  }
  std::vector<double> norms(size() * groups);
  group_->run([&](size_t rank, Collective& collective) {
    shards_[rank].reduce_gradients(summed_, collective);
    for (size_t g = 0; g < groups; ++g) {
      norms[rank * groups + g] = optimisers_[rank].gradient_norm(g);
    }
  });
  for (size_t i = 0; i < norms.size(); ++i) squares[i % groups] += norms[i] * norms[i];
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

void Replicas::update(std::span<const double> rates, double scale, std::span<const double> norms) {
  const auto apply = [&](size_t rank) {
    for (size_t g = 0; g < groups; ++g) optimisers_[rank].apply(g, rates[g], scale, norms[g]);
  };
  if (!group_) {
    apply(0);
    return first().networks.refresh();
  }
  group_->run([&](size_t rank, Collective& collective) {
    apply(rank);
    shards_[rank].clear_gradients();
    shards_[rank].gather(summed_, collective);
    replicas_[rank].networks.refresh();
  });
}

void Replicas::clear_gradients() {
  for (AdamW& optimiser : optimisers_) optimiser.clear_gradients();
  for (Shards& shards : shards_) shards.clear_gradients();
}

WeightMap Replicas::optimiser_state() const {
  WeightMap all = optimisers_.front().state();
  if (!group_) {
    for (auto& [name, tensor] : all) tensor = copy_on(tensor, at::kCPU);
    return all;
  }
  std::erase_if(all, [](const auto& entry) { return !entry.first.ends_with("/updates"); });
  for (size_t rank = 0; rank < size(); ++rank) {
    shards_[rank].add_state(optimisers_[rank].state(), all);
  }
  return all;
}

Result<void> Replicas::restore_optimiser(const WeightMap& state) {
  for (size_t rank = 0; rank < size(); ++rank) {
    const auto restored =
        optimisers_[rank].restore(group_ ? shards_[rank].own_state(state) : state);
    if (!restored) return restored;
  }
  return {};
}

void Replicas::spread() {
  for (size_t rank = 1; rank < size(); ++rank) {
    Replica& copy = replicas_[rank];
    copy.networks.copy_from(first().networks);
    if (!copy.reference || copy.networks.lora()) continue;
    copy.reference->weights().copy_from(first().reference->weights());
  }
  for (Replica& replica : replicas_) replica.networks.refresh();
}

}  // namespace warpsmith::policy

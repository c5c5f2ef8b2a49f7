// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/replicas.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "policy/learn/actor_critic.hpp"

namespace warpsmith::policy {
namespace {

constexpr std::array<const char*, 2> moments{".exp_avg", ".exp_avg_sq"};

at::Tensor flat(const at::Tensor& tensor) {
  return tensor.detach().view({-1});
}

/// `values` at the start of a buffer of `size` elements; `values` itself if it has that size.
at::Tensor padded(const at::Tensor& values, int64_t size) {
  if (values.numel() == size) return values;
  at::Tensor buffer = at::zeros({size}, values.options());
  buffer.narrow(0, 0, values.numel()).copy_(values);
  return buffer;
}

at::Tensor shard_of(const at::Tensor& parameter, const ShardRange& range) {
  if (range.count == 0) return {};
  at::Tensor shard = flat(parameter).narrow(0, range.first, range.count);
  return parameter.dim() >= 2 ? shard.unsqueeze(0) : shard;
}

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

ShardRange shard_range(int64_t elements, size_t rank, size_t ranks) {
  const auto n = static_cast<int64_t>(ranks);
  const int64_t part = (elements + n - 1) / n;
  const int64_t first = std::min(static_cast<int64_t>(rank) * part, elements);
  return {part, first, std::min(part, elements - first)};
}

Shards::Shards(std::vector<ParameterGroup> whole, size_t rank, size_t ranks)
    : rank_(rank), ranks_(ranks), groups_(std::move(whole)) {
  for (const ParameterGroup& group : groups_) {
    for (const auto& [name, parameter] : group.parameters) {
      entries_.push_back(
          {parameter, shard_of(parameter, range_of(parameter)), group.name + "/" + name});
    }
  }
}

std::vector<ParameterGroup> Shards::own() const {
  std::vector<ParameterGroup> groups;
  size_t next = 0;
  for (const ParameterGroup& whole : groups_) {
    ParameterGroup group{whole.name, {}};
    for (const auto& [name, parameter] : whole.parameters) {
      const at::Tensor& shard = entries_[next++].shard;
      if (shard.defined()) group.parameters.emplace_back(name, shard);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

ShardRange Shards::range_of(const at::Tensor& parameter) const {
  return shard_range(parameter.numel(), rank_, ranks_);
}

at::Tensor Shards::part_of(const at::Tensor& all) const {
  const int64_t part = all.numel() / static_cast<int64_t>(ranks_);
  return all.narrow(0, static_cast<int64_t>(rank_) * part, part);
}

Shards::Which Shards::with_gradient() const {
  Which which;
  for (const Entry& entry : entries_) which.push_back(entry.parameter.grad().defined());
  return which;
}

void Shards::reduce_gradients(const Which& which, Collective& collective) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!which[i]) continue;
    const auto& [parameter, shard, name] = entries_[i];
    at::Tensor& gradient = parameter.mutable_grad();
    gradient = gradient.defined() ? gradient.contiguous() : at::zeros_like(parameter);
    const ShardRange range = range_of(parameter);
    const at::Tensor all = padded(flat(gradient), range.part * static_cast<int64_t>(ranks_));
    at::Tensor own = part_of(all);
    collective.reduce_scatter(all, own);
    if (shard.defined()) shard.mutable_grad() = own.narrow(0, 0, range.count).view(shard.sizes());
  }
}

void Shards::gather(const Which& which, Collective& collective) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!which[i]) continue;
    const at::Tensor values = flat(entries_[i].parameter);
    const int64_t part = range_of(values).part;
    at::Tensor all = padded(values, part * static_cast<int64_t>(ranks_));
    collective.all_gather(part_of(all), all);
    if (!all.is_same(values)) values.copy_(all.narrow(0, 0, values.numel()));
  }
}

void Shards::clear_gradients() {
  for (Entry& entry : entries_) {
    entry.parameter.mutable_grad() = at::Tensor();
    if (entry.shard.defined()) entry.shard.mutable_grad() = at::Tensor();
  }
}

void Shards::add_state(const WeightMap& own, WeightMap& all) const {
  for (const Entry& entry : entries_) {
    if (!entry.shard.defined()) continue;
    const ShardRange range = range_of(entry.parameter);
    for (const char* moment : moments) {
      at::Tensor& whole = all[entry.name + moment];
      if (!whole.defined()) {
        whole = at::empty(entry.parameter.sizes(), entry.parameter.options().device(at::kCPU));
      }
      flat(whole).narrow(0, range.first, range.count).copy_(flat(own.at(entry.name + moment)));
    }
  }
}

WeightMap Shards::own_state(const WeightMap& all) const {
  WeightMap own = all;
  for (const Entry& entry : entries_) {
    if (!entry.shard.defined()) continue;
    for (const char* moment : moments) {
      const auto found = own.find(entry.name + moment);
      if (found == own.end() || found->second.sizes() != entry.parameter.sizes()) continue;
      found->second = shard_of(found->second.contiguous(), range_of(entry.parameter));
    }
  }
  return own;
}

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

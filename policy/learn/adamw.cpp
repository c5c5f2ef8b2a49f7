// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/adamw.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::policy {
namespace {

std::vector<at::Tensor> gradients_of(const NamedParameters& parameters) {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.grad().defined()) gradients.push_back(tensor.grad());
  }
  return gradients;
}

double norm_of(const std::vector<at::Tensor>& gradients) {
  const at::Tensor norms = at::stack(at::_foreach_norm(gradients)).to(at::kCPU, at::kDouble);
  double squares = 0;
  for (int64_t i = 0; i < norms.size(0); ++i) {
    const double n = norms.const_data_ptr<double>()[i];
    squares += n * n;
  }
  return std::sqrt(squares);
}

void clear(NamedParameters& parameters) {
  for (auto& [name, tensor] : parameters) tensor.mutable_grad() = at::Tensor();
}

Result<void> copy_entry(const WeightMap& from, const std::string& name, at::Tensor& into) {
  const auto found = from.find(name);
  if (found == from.end()) {
    return fail(ErrorCode::parse_failed, "optimiser state: \"" + name + "\" is missing");
  }
  if (found->second.sizes() != into.sizes()) {
    return fail(ErrorCode::parse_failed, "optimiser state: \"" + name + "\" has another shape");
  }
  into.copy_(found->second);
  return {};
}

}  // namespace

AdamW::AdamW(const OptimizerConfig& config, std::vector<ParameterGroup> groups) : config_(config) {
  for (ParameterGroup& names : groups) {
    Group group{std::move(names), {}, {}, 0};
    for (const auto& [name, tensor] : group.names.parameters) {
      group.first.push_back(at::zeros_like(tensor.detach()));
      group.second.push_back(at::zeros_like(tensor.detach()));
    }
    groups_.push_back(std::move(group));
  }
}

std::vector<size_t> AdamW::with_gradient(const Group& group, bool decays) const {
  std::vector<size_t> which;
  for (size_t i = 0; i < group.names.parameters.size(); ++i) {
    const at::Tensor& tensor = group.names.parameters[i].second;
    if (tensor.grad().defined() && (tensor.dim() >= 2) == decays) which.push_back(i);
  }
  return which;
}

double AdamW::gradient_norm(size_t index) const {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(groups_.at(index).names.parameters);
  return gradients.empty() ? 0 : norm_of(gradients);
}

double AdamW::step(size_t index, double learning_rate, double scale) {
  const double norm = gradient_norm(index);
  if (std::isfinite(norm * scale)) {
    apply(index, learning_rate, scale, norm);
  } else {
    clear(groups_.at(index).names.parameters);
  }
  return norm * scale;
}

void AdamW::apply(size_t index, double learning_rate, double scale, double norm) {
  Group& group = groups_.at(index);
  std::vector<at::Tensor> gradients = gradients_of(group.names.parameters);
  if (gradients.empty()) return;
  const at::NoGradGuard no_grad;
  const double scaled = norm * scale;
  const double limit = config_.gradient_clip;
  at::_foreach_mul_(gradients, scale * (scaled > limit ? limit / scaled : 1.0));
  ++group.updates;
  update(group, with_gradient(group, true), learning_rate, config_.weight_decay);
  update(group, with_gradient(group, false), learning_rate, 0.0);
  clear(group.names.parameters);
}

void AdamW::update(Group& group, const std::vector<size_t>& which, double rate, double decay) {
  if (which.empty()) return;
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first;
  std::vector<at::Tensor> second;
  for (const size_t i : which) {
    const at::Tensor& tensor = group.names.parameters[i].second;
    weights.push_back(tensor.detach());
    gradients.push_back(tensor.grad());
    first.push_back(group.first[i]);
    second.push_back(group.second[i]);
  }
  const at::Tensor count =
      at::full({}, static_cast<double>(group.updates), weights.front().options().dtype(at::kFloat));
  const std::vector<at::Tensor> counts(which.size(), count);
  at::_fused_adamw_(weights, gradients, first, second, {}, counts, rate, config_.beta1,
                    config_.beta2, decay, config_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

void AdamW::clear_gradients() {
  for (Group& group : groups_) clear(group.names.parameters);
}

WeightMap AdamW::state() const {
  WeightMap map;
  for (const Group& group : groups_) {
    const std::string& prefix = group.names.name;
    for (size_t i = 0; i < group.first.size(); ++i) {
      const std::string name = prefix + "/" + group.names.parameters[i].first;
      map[name + ".exp_avg"] = group.first[i];
      map[name + ".exp_avg_sq"] = group.second[i];
    }
    // float64 represents every count below 2^53 exactly.
    map[prefix + "/updates"] = at::full({1}, static_cast<double>(group.updates), at::kDouble);
  }
  return map;
}

Result<void> AdamW::restore(const WeightMap& state) {
  for (Group& group : groups_) {
    const std::string& prefix = group.names.name;
    for (size_t i = 0; i < group.first.size(); ++i) {
      const std::string name = prefix + "/" + group.names.parameters[i].first;
      if (auto r = copy_entry(state, name + ".exp_avg", group.first[i]); !r) return r;
      if (auto r = copy_entry(state, name + ".exp_avg_sq", group.second[i]); !r) return r;
    }
    at::Tensor updates = at::full({1}, 0.0, at::kDouble);
    if (auto r = copy_entry(state, prefix + "/updates", updates); !r) return r;
    group.updates = static_cast<int64_t>(updates.item<double>());
  }
  return {};
}

double warmup_share(int64_t step, int64_t warmup) {
  if (step >= warmup) return 1.0;
  return static_cast<double>(step + 1) / static_cast<double>(warmup);
}

}  // namespace warpsmith::policy

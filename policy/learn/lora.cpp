// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/lora.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

struct Target {
  const char* name;  // as in LoraConfig::targets
  at::Tensor LayerWeights::* matrix;
};

constexpr std::array<Target, 4> targets{{{"qkv", &LayerWeights::qkv},
                                         {"out", &LayerWeights::out},
                                         {"gate_up", &LayerWeights::gate_up},
                                         {"down", &LayerWeights::down}}};

struct MatrixSize {
  int64_t rows, columns;
};

/// In the order of `targets`.
std::array<MatrixSize, 4> sizes_in(const ModelConfig& model) {
  return {{{model.qkv_size(), model.hidden},
           {model.hidden, model.q_size()},
           {2 * model.ffn, model.hidden},
           {model.hidden, model.ffn}}};
}

bool is_wanted(const LoraConfig& config, const Target& target) {
  return std::find(config.targets.begin(), config.targets.end(), target.name) !=
         config.targets.end();
}

/// Calls `visit(name, matrix)` with each target matrix of a model.
template <class Visit>
void for_each_target(const LoraConfig& config, ModelWeights& weights, const Visit& visit) {
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    for (const Target& target : targets) {
      if (!is_wanted(config, target)) continue;
      visit(fmt::format("layers.{}.{}", i, target.name), weights.layers[i].*target.matrix);
    }
  }
}

at::TensorOptions adapter_options(const at::Tensor& base) {
  return base.options().dtype(base.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

/// Uniform in ±1 / sqrt(in), which is the usual start of a linear layer.
at::Tensor random_a(int64_t rank, const at::Tensor& base, RandomStream& random) {
  const int64_t in = base.size(1);
  at::Tensor a = at::empty({rank, in}, at::TensorOptions(at::kFloat));
  float* out = a.mutable_data_ptr<float>();
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  for (int64_t i = 0; i < a.numel(); ++i) {
    out[i] = static_cast<float>((2.0 * random.uniform() - 1.0) * bound);
  }
  return a.to(adapter_options(base));
}

void add_to(at::Tensor& sum, const at::Tensor& part) {
  if (sum.defined()) {
    sum.add_(part);
  } else {
    sum = part;
  }
}

/// dA = s Bᵀ dW and dB = s dW Aᵀ.
class AdapterGradient final : public torch::autograd::PostAccumulateGradHook {
 public:
  AdapterGradient(at::Tensor a, at::Tensor b, double scale)
      : a_(std::move(a)), b_(std::move(b)), scale_(scale) {}

  void operator()(const torch::autograd::Variable& merged) override {
    const at::NoGradGuard no_grad;
    const at::Tensor gradient = merged.grad().to(a_.scalar_type());
    merged.mutable_grad() = at::Tensor();
    add_to(a_.mutable_grad(), at::mm(b_.t(), gradient).mul_(scale_));
    add_to(b_.mutable_grad(), at::mm(gradient, a_.t()).mul_(scale_));
  }

 private:
  at::Tensor a_, b_;
  double scale_;
};

}  // namespace

Result<void> check_lora(const LoraConfig& config, const ModelConfig& model) {
  if (config.rank == 0) return {};
  const auto sizes = sizes_in(model);
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t most = std::min(sizes[i].rows, sizes[i].columns);
    if (!is_wanted(config, targets[i]) || config.rank <= most) continue;
    return fail(ErrorCode::invalid_config,
                fmt::format("learner.lora.rank: expected at most {}, the smaller side of \"{}\" of "
                            "this model, got {}",
                            most, targets[i].name, config.rank));
  }
  return {};
}

LoraSize size_of(const LoraConfig& config, const ModelConfig& model) {
  const auto sizes = sizes_in(model);
  LoraSize size;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (config.rank == 0 || !is_wanted(config, targets[i])) continue;
    size.targets += model.layers * sizes[i].rows * sizes[i].columns;
    size.adapters += model.layers * config.rank * (sizes[i].rows + sizes[i].columns);
  }
  return size;
}

Lora::Lora(const LoraConfig& config, ModelWeights& weights, uint64_t seed)
    : scale_(config.alpha / static_cast<double>(config.rank)) {
  RandomStream random{seed, "learner.lora"};
  for_each_target(config, weights, [&](const std::string& name, at::Tensor& matrix) {
    const at::Tensor base = matrix.detach();
    matrix = base.clone();
    adapters_.push_back({name, base, matrix, random_a(config.rank, base, random),
                         at::zeros({base.size(0), config.rank}, adapter_options(base))});
  });
}

Lora Lora::copy_for(ModelWeights& weights) const {
  const at::Device device = weights.embed.device();
  Lora copy;
  copy.scale_ = scale_;
  const auto by_name = weights.parameters();
  for (const Adapter& adapter : adapters_) {
    const auto found = std::find_if(by_name.begin(), by_name.end(),
                                    [&](const auto& entry) { return entry.first == adapter.name; });
    copy.adapters_.push_back({adapter.name, adapter.base.to(at::TensorOptions(device)),
                              found->second, copy_on(adapter.a, device),
                              copy_on(adapter.b, device)});
  }
  return copy;
}

NamedParameters Lora::parameters() const {
  NamedParameters all;
  for (const Adapter& adapter : adapters_) {
    all.emplace_back(adapter.name + ".lora_a", adapter.a);
    all.emplace_back(adapter.name + ".lora_b", adapter.b);
  }
  return all;
}

ModelWeights Lora::frozen(ModelWeights weights) const {
  auto next = adapters_.begin();
  for (LayerWeights& layer : weights.layers) {
    for (const Target& target : targets) {
      if (next == adapters_.end() || !next->merged.is_same(layer.*target.matrix)) continue;
      layer.*target.matrix = next++->base;
    }
  }
  return weights;
}

void Lora::copy_from(const Lora& other) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < adapters_.size(); ++i) {
    adapters_[i].a.copy_(other.adapters_[i].a);
    adapters_[i].b.copy_(other.adapters_[i].b);
  }
}

void Lora::require_grad() {
  for (Adapter& adapter : adapters_) {
    adapter.a.requires_grad_();
    adapter.b.requires_grad_();
    adapter.merged.requires_grad_();
    torch::autograd::impl::set_post_acc_grad_hooks(
        adapter.merged, std::make_unique<AdapterGradient>(adapter.a, adapter.b, scale_));
  }
}

void Lora::merge() {
  const at::NoGradGuard no_grad;
  for (Adapter& adapter : adapters_) {
    const at::Tensor base = adapter.base.to(adapter.a.scalar_type());
    adapter.merged.copy_(at::addmm(base, adapter.b, adapter.a, 1.0, scale_));
  }
}

}  // namespace warpsmith::policy

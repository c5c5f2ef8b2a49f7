// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/value.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "policy/format/safetensors.hpp"
#include "policy/learn/actor_critic.hpp"
#include "policy/learn/advantage.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/learn/step_report.hpp"

namespace warpsmith::policy {
namespace {

constexpr double largest_gradient = 1.0;
constexpr const char* state_file = "optimizer.safetensors";

std::vector<int64_t> sizes_of(const std::vector<ValueExample>& examples) {
  std::vector<int64_t> sizes;
  sizes.reserve(examples.size());
  for (const ValueExample& example : examples) sizes.push_back(example.held.useful_length());
  return sizes;
}

/// The critic's parameters: the value head, and its own body.
NamedParameters critic_parameters(const ActorCritic& networks) {
  return parameter_groups(networks)[critic_group].parameters;
}

Result<void> check_tokens(const std::vector<ValueExample>& examples, int64_t vocab) {
  for (const ValueExample& example : examples) {
    for (const int32_t token : example.held.tokens) {
      if (token < vocab) continue;
      return fail(ErrorCode::invalid_argument,
                  fmt::format("value: trajectory {}: token {} is outside the vocabulary of {}",
                              example.held.id, token, vocab));
    }
  }
  return {};
}

at::Tensor number(double value) {
  return at::tensor(std::vector<double>{value}, at::kDouble);
}

std::vector<double> doubles_of(const at::Tensor& values) {
  const at::Tensor on_host = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = on_host.const_data_ptr<double>();
  return {data, data + on_host.numel()};
}

}  // namespace

Result<ValueStage> ValueStage::make(const ValueConfig& config, ActorCritic networks,
                                    std::vector<ValueExample> examples, uint64_t seed) {
  const auto before = static_cast<int64_t>(examples.size());
  std::erase_if(examples, [](const ValueExample& e) { return e.held.useful_length() < 2; });
  const auto kept = static_cast<int64_t>(examples.size());
  const auto held_out = static_cast<int64_t>(config.held_out_share * static_cast<double>(kept));
  if (held_out == 0) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("value: expected at least one held-out trajectory, but value.held_out_share of "
                    "{} with a token that the policy wrote is none; raise value.held_out_share, or "
                    "collect more (train --resume RUN --set collect.samples=N) and resume",
                    kept));
  }
  TRY_VOID(check_tokens(examples, networks.config().vocab));
  ValueStage stage{config, std::move(networks), std::move(examples), seed};
  stage.left_out_ = before - kept;
  return stage;
}

ValueStage::ValueStage(const ValueConfig& config, ActorCritic networks,
                       std::vector<ValueExample> examples, uint64_t seed)
    : config_(config),
      networks_(std::move(networks)),
      examples_(std::move(examples)),
      plan_(plan_batches(sizes_of(examples_), {.seed = seed,
                                               .epochs = config.epochs,
                                               .batch_tokens = config.batch_tokens,
                                               .held_out_share = config.held_out_share})),
      optimiser_({.gradient_clip = largest_gradient}, {{"critic", critic_parameters(networks_)}}) {
  note(explained_variance());
}

bool ValueStage::done() const {
  return step_ == steps() || step_ - best_step_ >= config_.patience;
}

std::vector<ValueStage::Pack> ValueStage::packs_of(const std::vector<size_t>& indices) const {
  std::vector<Pack> packs;
  int64_t packed = 0;
  for (const size_t i : indices) {
    const int64_t size = examples_[i].held.useful_length();
    if (packs.empty() || packed + size > pack_tokens) {
      packs.emplace_back();
      packed = 0;
    }
    packs.back().push_back(i);
    packed += size;
  }
  return packs;
}

at::Tensor ValueStage::values_of(const Pack& pack) const {
  std::vector<const HeldTrajectory*> held;
  for (const size_t i : pack) held.push_back(&examples_[i].held);
  return networks_.evaluate_values(held);
}

std::vector<float> ValueStage::targets_of(const Pack& pack, const at::Tensor& values) const {
  const std::vector<double> all = doubles_of(values);
  std::vector<float> targets;
  auto next = all.begin();
  for (const size_t i : pack) {
    const auto n = static_cast<size_t>(examples_[i].held.action_tokens());
    const std::vector<double> own(next, next + static_cast<std::ptrdiff_t>(n));
    next += static_cast<std::ptrdiff_t>(n);
    std::vector<double> rewards(n, 0.0);
    rewards.back() = examples_[i].reward;
    const std::vector<uint8_t> mask(n, 1);  // masked tokens would change nothing
    const Advantages gae = BackwardGae{1.0, config_.lambda}.chunk({mask, rewards, own});
    targets.insert(targets.end(), gae.targets.begin(), gae.targets.end());
  }
  return targets;
}

ValueReport ValueStage::step() {
  assert(!done() && "value: step() after the last step");
  double loss = 0;
  int64_t tokens = 0;
  for (const Pack& pack : packs_of(plan_.batches[static_cast<size_t>(step_)])) {
    const at::Tensor values = values_of(pack);
    const at::Tensor targets =
        at::tensor(targets_of(pack, values), at::kFloat).to(values.options().requires_grad(false));
    const at::Tensor sum = 0.5 * (values - targets).square().sum();
    sum.backward();
    loss += sum.item<double>();
    tokens += values.numel();
  }
  const double scale = 1.0 / static_cast<double>(tokens);
  const double rate = config_.learning_rate * warmup_share(step_, config_.warmup);
  const double norm = optimiser_.step(0, rate, scale);
  networks_.refresh();
  ++step_;
  const double explained = explained_variance();
  note(explained);
  return {step_, steps(), loss * scale, explained, norm};
}

double ValueStage::explained_variance() const {
  const at::NoGradGuard no_grad;
  std::vector<TokenSample> samples;
  for (const Pack& pack : packs_of(plan_.held_out)) {
    const at::Tensor values = values_of(pack);
    const std::vector<float> targets = targets_of(pack, values);
    const std::vector<double> predicted = doubles_of(values);
    for (size_t i = 0; i < targets.size(); ++i) {
      samples.push_back({.value = static_cast<float>(predicted[i]), .target = targets[i]});
    }
  }
  return ratio_statistics(samples).explained_variance;
}

/// Keeps a copy of the critic if it explains more variance than all before.
void ValueStage::note(double explained) {
  if (!std::isfinite(explained)) explained = -std::numeric_limits<double>::infinity();
  if (!best_weights_.empty() && explained <= best_) return;
  best_ = explained;
  best_step_ = step_;
  best_weights_.clear();
  for (const auto& [name, tensor] : critic_parameters(networks_)) {
    best_weights_.emplace_back(name, tensor.detach().clone());
  }
}

Result<void> ValueStage::save_best(const std::filesystem::path& folder) const {
  const at::NoGradGuard no_grad;
  const NamedParameters now = critic_parameters(networks_);
  NamedParameters kept;
  for (size_t i = 0; i < now.size(); ++i) {
    kept.emplace_back(now[i].first, now[i].second.detach().clone());
    at::Tensor(now[i].second).copy_(best_weights_[i].second);
  }
  auto saved = save_critic(folder, networks_);
  for (size_t i = 0; i < now.size(); ++i) at::Tensor(now[i].second).copy_(kept[i].second);
  return saved;
}

Result<void> ValueStage::save(const std::filesystem::path& folder) const {
  WeightMap state = optimiser_.state();
  for (const auto& [name, tensor] : critic_parameters(networks_))
    state["now/" + name] = tensor.detach();
  for (const auto& [name, tensor] : best_weights_) state["best/" + name] = tensor;
  state["step"] = number(static_cast<double>(step_));
  state["best_step"] = number(static_cast<double>(best_step_));
  state["best_explained_variance"] = number(best_);
  return write_safetensors(folder / state_file, state);
}

Result<void> ValueStage::restore(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  const auto file = folder / state_file;
  TRY(auto state, read_safetensors(file));
  const auto copy = [&](const std::string& name, const at::Tensor& to) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != to.sizes()) return false;
    to.copy_(found->second);
    return true;
  };
  bool whole = true;
  for (const auto& [name, tensor] : critic_parameters(networks_))
    whole &= copy("now/" + name, tensor);
  for (const auto& [name, tensor] : best_weights_) whole &= copy("best/" + name, tensor);
  networks_.refresh();
  at::Tensor step = number(-1), best_step = number(0), best = number(0);
  whole = whole && copy("step", step) && copy("best_step", best_step) &&
          copy("best_explained_variance", best);
  step_ = static_cast<int64_t>(step.item<double>());
  best_step_ = static_cast<int64_t>(best_step.item<double>());
  best_ = best.item<double>();
  if (!whole || step_ < 0 || step_ > steps() || best_step_ > step_) {
    return fail(ErrorCode::parse_failed,
                fmt::format("{}: not a checkpoint of this critic and its {} steps", file.string(),
                            steps()));
  }
  if (auto r = optimiser_.restore(state); !r) return fail(folder.string(), r.error());
  return {};
}

}  // namespace warpsmith::policy

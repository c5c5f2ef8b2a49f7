// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/critic_head.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

constexpr float largest_surprise = 8;  // nats; one very unlikely token must not dominate a fit

}  // namespace

at::Tensor ValueHead::values(const at::Tensor& hidden, const at::Tensor& more) const {
  at::Tensor rows = hidden.to(weight.scalar_type());
  if (more.defined()) rows = at::cat({rows, more.to(rows.options())}, 1);
  const at::Tensor scores = at::linear(rows, weight, bias).squeeze(-1);
  return scores.scalar_type() == at::kDouble ? scores : scores.to(at::kFloat);
}

std::vector<std::pair<std::string, at::Tensor>> ValueHead::parameters() const {
  return {{"score.weight", weight}, {"score.bias", bias}};
}

ValueHead make_value_head(int64_t width, const at::TensorOptions& options) {
  return {at::zeros({1, width}, options), at::zeros({1}, options)};
}

WeightMap value_head_to_map(const ValueHead& head) {
  return {{"score.weight", head.weight.detach()}, {"score.bias", head.bias.detach()}};
}

Result<ValueHead> value_head_from_map(int64_t width, const WeightMap& map) {
  ValueHead head = make_value_head(width);
  for (auto& [name, tensor] : head.parameters()) {
    const auto it = map.find(name);
    if (it == map.end() || it->second.sizes() != tensor.sizes()) {
      return fail(ErrorCode::parse_failed,
                  "value head: tensor \"" + name + "\" is missing or has another shape");
    }
    if (auto ok = check_finite(name, it->second); !ok) {
      return fail("value head", std::move(ok.error()));
    }
    tensor.copy_(it->second);
  }
  return head;
}

std::vector<float> surprises(const HeldTrajectory& held, int64_t from) {
  std::vector<float> all;
  float largest = 0;
  for (const int64_t action : action_positions(held)) {
    if (action >= from) all.push_back(largest);
    largest = std::max(largest, -held.behaviour[static_cast<size_t>(action)]);
    largest = std::min(largest, largest_surprise);
  }
  return all;
}

at::Tensor surprise_rows(const std::vector<float>& surprises) {
  std::vector<float> rows;
  for (const float s : surprises) {
    for (int64_t k = 0; k < surprise_width; ++k)
      rows.push_back(std::max(0.0F, s - static_cast<float>(k)));
  }
  const auto n = static_cast<int64_t>(surprises.size());
  return at::from_blob(rows.data(), {n, surprise_width}, at::kFloat).clone();
}

at::Tensor surprise_rows(std::span<const HeldTrajectory* const> pack) {
  std::vector<float> all;
  for (const HeldTrajectory* held : pack) {
    const std::vector<float> own = surprises(*held);
    all.insert(all.end(), own.begin(), own.end());
  }
  return surprise_rows(all);
}

int64_t head_width(const ModelConfig& model, const CriticConfig& critic) {
  return model.hidden + (critic.surprise ? surprise_width : 0);
}

}  // namespace warpsmith::policy

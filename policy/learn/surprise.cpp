// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/surprise.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

constexpr float largest_surprise = 8;  // nats; one very unlikely token must not dominate a fit

}  // namespace

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

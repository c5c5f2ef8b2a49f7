// SPDX-License-Identifier: Apache-2.0
// The critic's head: a linear map of hidden states to values, the expected future reward.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "policy/model/weights.hpp"

namespace warpsmith::policy {

struct ValueHead {
  at::Tensor weight;  // (1, H)
  at::Tensor bias;    // (1)

  /// hidden (T, H) → values (T), computed in the head's type, at least float32.
  at::Tensor values(const at::Tensor& hidden) const;
  std::vector<std::pair<std::string, at::Tensor>> parameters() const;
};

/// All zero, so that a new critic predicts 0.
ValueHead make_value_head(const ModelConfig& config, const at::TensorOptions& options = at::kFloat);

/// Named as in a one-label token classifier of `transformers`: "score.weight", "score.bias".
WeightMap value_head_to_map(const ValueHead& head);
Result<ValueHead> value_head_from_map(const ModelConfig& config, const WeightMap& map);

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// The critic's head: a linear map of hidden states to values, the expected future reward.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// W inputs: a hidden state (H), and after it what else the critic reads of the token.
struct ValueHead {
  at::Tensor weight;  // (1, W)
  at::Tensor bias;    // (1)

  /// hidden (T, H), more (T, W − H) → values (T), computed in the head's type, at least float32.
  /// `more` may be undefined if W = H.
  at::Tensor values(const at::Tensor& hidden, const at::Tensor& more) const;
  std::vector<std::pair<std::string, at::Tensor>> parameters() const;
};

/// All zero, so that a new critic predicts 0.
ValueHead make_value_head(int64_t width, const at::TensorOptions& options = at::kFloat);

/// Named as in a one-label token classifier of `transformers`: "score.weight", "score.bias".
WeightMap value_head_to_map(const ValueHead& head);
Result<ValueHead> value_head_from_map(int64_t width, const WeightMap& map);

}  // namespace warpsmith::policy

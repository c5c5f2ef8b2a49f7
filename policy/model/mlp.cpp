// SPDX-License-Identifier: Apache-2.0
#include "policy/model/mlp.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

namespace warpsmith::policy {

at::Tensor gated_units(const LayerWeights& layer, const at::Tensor& x) {
  const at::Tensor both = at::linear(x, layer.gate_up, layer.gate_up_bias);
  // The gradient of `chunk` is one copy; that of two `narrow` fills and adds two whole tensors.
  const std::vector<at::Tensor> gate_up = both.chunk(2, -1);
  return at::silu(gate_up[0]) * gate_up[1];
}

at::Tensor feed_forward(const LayerWeights& layer, const at::Tensor& x) {
  return at::linear(gated_units(layer, x), layer.down, layer.down_bias);
}

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "policy/model/mlp.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>

namespace warpsmith::policy {

at::Tensor feed_forward(const LayerWeights& layer, const at::Tensor& x) {
  const at::Tensor both = at::linear(x, layer.gate_up, layer.gate_up_bias);
  const int64_t ffn = both.size(-1) / 2;
  const at::Tensor gated = at::silu(both.narrow(-1, 0, ffn)) * both.narrow(-1, ffn, ffn);
  return at::linear(gated, layer.down, layer.down_bias);
}

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/random_weights.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <c10/core/TensorOptions.h>

namespace warpsmith::policy {
namespace {

/// Makes tensors of one kind and place.
class Maker {
 public:
  Maker(double std, int gpu)
      : std_(std),
        options_(at::TensorOptions(at::kBFloat16)
                     .device(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(gpu)))) {}

  at::Tensor matrix(int64_t rows, int64_t columns) const {
    return at::randn({rows, columns}, options_).mul_(std_);
  }
  at::Tensor ones(int64_t count) const { return at::full({count}, 1.0, options_); }
  at::Tensor zeros_if(bool wanted, int64_t count) const {
    return wanted ? at::full({count}, 0.0, options_) : at::Tensor();
  }

 private:
  double std_;
  at::TensorOptions options_;
};

LayerWeights random_layer(const ModelConfig& c, const Maker& make) {
  LayerWeights layer;
  layer.input_norm = make.ones(c.hidden);
  layer.qkv = make.matrix(c.qkv_size(), c.hidden);
  layer.qkv_bias = make.zeros_if(c.qkv_bias, c.qkv_size());
  if (c.qk_norm) layer.q_norm = make.ones(c.head_dim);
  if (c.qk_norm) layer.k_norm = make.ones(c.head_dim);
  layer.out = make.matrix(c.hidden, c.q_size());
  layer.out_bias = make.zeros_if(c.out_bias, c.hidden);
  layer.post_norm = make.ones(c.hidden);
  layer.gate_up = make.matrix(2 * c.ffn, c.hidden);
  layer.gate_up_bias = make.zeros_if(c.mlp_bias, 2 * c.ffn);
  layer.down = make.matrix(c.hidden, c.ffn);
  layer.down_bias = make.zeros_if(c.mlp_bias, c.hidden);
  return layer;
}

}  // namespace

ModelWeights random_weights_on(const ModelConfig& config, int gpu) {
  const Maker make(config.init_std, gpu);
  ModelWeights weights;
  weights.embed = make.matrix(config.vocab, config.hidden);
  for (int64_t i = 0; i < config.layers; ++i) weights.layers.push_back(random_layer(config, make));
  weights.final_norm = make.ones(config.hidden);
  weights.head = config.tied_embeddings ? weights.embed : make.matrix(config.vocab, config.hidden);
  (void)weights.final_norm.cpu();  // waits for everything queued before it
  return weights;
}

}  // namespace warpsmith::policy

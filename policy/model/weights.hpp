// SPDX-License-Identifier: Apache-2.0
// A model's parameters in the fused form that layers use, and under Hugging Face's names.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/model/config.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {

/// Tensors by Hugging Face parameter name, as in files and published versions.
using WeightMap = std::map<std::string, at::Tensor>;

/// One layer. H hidden, Q = heads x head_dim, K = kv_heads x head_dim, F ffn. Row-major (out, in).
/// Biases and head norms that the family lacks are undefined tensors.
struct LayerWeights {
  at::Tensor input_norm;    // (H)
  at::Tensor qkv;           // (Q + 2K, H): query rows, then key rows, then value rows
  at::Tensor qkv_bias;      // (Q + 2K)
  at::Tensor q_norm;        // (head_dim)
  at::Tensor k_norm;        // (head_dim)
  at::Tensor out;           // (H, Q)
  at::Tensor out_bias;      // (H)
  at::Tensor post_norm;     // (H)
  at::Tensor gate_up;       // (2F, H): gate rows, then up rows
  at::Tensor gate_up_bias;  // (2F)
  at::Tensor down;          // (H, F)
  at::Tensor down_bias;     // (H)

  /// The defined parameters, in the order above; attention's come first.
  std::vector<at::Tensor> parameters() const;
  /// How many of `parameters` come before `post_norm`.
  size_t attention_parameters() const;
  /// The same layer with the tensors of `others`, which are in the order of `parameters`.
  LayerWeights with(const std::vector<at::Tensor>& others) const;
};

/// All parameters of a model. Copies share storage; `clone` does not.
struct ModelWeights {
  at::Tensor embed;  // (V, H)
  std::vector<LayerWeights> layers;
  at::Tensor final_norm;  // (H)
  at::Tensor head;        // (V, H); the same tensor as `embed` when tied

  /// Every distinct parameter under a stable name ("layers.0.qkv"), in a stable order. Tied weights
  /// appear once.
  std::vector<std::pair<std::string, at::Tensor>> parameters() const;
  /// A deep copy without gradients.
  ModelWeights clone() const;
  /// A copy without gradients of that type and device; tensors that have both already are shared.
  ModelWeights converted(const at::TensorOptions& options) const;
  /// A deep copy on `device`, without gradients.
  ModelWeights copy_on(at::Device device) const;
  /// Copies the values of weights of the same shapes, of any type and device.
  void copy_from(const ModelWeights& other);
  /// Marks every parameter as a leaf that collects gradients.
  void require_grad();
};

/// A copy with separate storage, without gradients.
at::Tensor copy_on(const at::Tensor& tensor, at::Device device);

/// Parameters of the configuration's shapes with undefined content.
ModelWeights allocate_weights(const ModelConfig& config,
                              const at::TensorOptions& options = at::TensorOptions(at::kFloat));

/// Random parameters: matrices normal(0, init_std), norms 1, biases 0. Equal streams give equal
/// parameters on every machine.
ModelWeights make_weights(const ModelConfig& config, RandomStream& random,
                          at::ScalarType dtype = at::kFloat);

/// The same distributions in bf16, drawn on that GPU without a seed, in a moment; for benchmarks of
/// large models. Complete on return. Throws if LibTorch has no CUDA or the GPU has no room.
ModelWeights random_weights_on(const ModelConfig& config, int gpu);

/// `parse_failed` if a number of `tensor`, read from a file under `name`, is NaN or infinite.
Result<void> check_finite(const std::string& name, const at::Tensor& tensor);

/// Fuses Hugging Face's tensors into copies of type `dtype`. `parse_failed` for a missing tensor, a
/// wrong shape, numbers that are not finite, or a tensor that the family does not have.
Result<ModelWeights> weights_from_map(const ModelConfig& config, const WeightMap& map,
                                      at::ScalarType dtype = at::kFloat);

/// Hugging Face's tensors as views of `weights` (detached, not copied). Leaves out tied heads, as
/// `transformers` does.
WeightMap weights_to_map(const ModelConfig& config, const ModelWeights& weights);

/// Copies `map` into the storage of `weights`, so that an optimiser's tensors stay the same. After
/// an error, which is one of weights_from_map's, they are unchanged.
Result<void> assign_weights(const ModelConfig& config, const WeightMap& map, ModelWeights& weights);

}  // namespace warpsmith::policy

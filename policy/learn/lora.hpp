// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters (LoRA; Hu et al., arXiv 2106.09685, section 4.1): a target matrix computes as
// W = W0 + (alpha / rank) B A, where W0 is frozen and A and B are trained. Networks always compute
// with the merged W, rounded to their type: exactly the weights that are published and sampled
// from.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "policy/learn/adamw.hpp"
#include "policy/model/weights.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `invalid_config` if a target matrix of this model has fewer rows or columns than the rank.
Result<void> check_lora(const LoraConfig& config, const ModelConfig& model);

/// Elements of a model's target matrices, and of their adapters.
struct LoraSize {
  int64_t targets = 0;
  int64_t adapters = 0;
};
LoraSize size_of(const LoraConfig& config, const ModelConfig& model);

/// Adapters of all target matrices of a model.
class Lora {
 public:
  /// Gives every target in `weights` separate storage for W, with the present values as W0: A is
  /// drawn from `seed`, B is 0. All other `weights` stay frozen.
  Lora(const LoraConfig& config, ModelWeights& weights, uint64_t seed);

  /// A copy of the adapters, with W0 shared on the same device, for `weights` that are a copy
  /// there.
  Lora copy_for(ModelWeights& weights) const;

  /// A (rank, in) as "layers.0.qkv.lora_a" and B (out, rank) as "layers.0.qkv.lora_b"; float32, or
  /// wider as W0.
  NamedParameters parameters() const;
  /// The values of `other`, of the same model and configuration.
  void copy_from(const Lora& other);

  /// `weights`, which have these adapters, with W0 in place of W. Shares all tensors.
  ModelWeights frozen(ModelWeights weights) const;

  /// Gradients of W become gradients of A and B as soon as a backward pass has added them up, and
  /// are freed. They have the type of W.
  void require_grad();
  /// Updates W.
  void merge();

 private:
  struct Adapter {
    std::string name;   // of the matrix, "layers.0.qkv"
    at::Tensor base;    // W0
    at::Tensor merged;  // W
    at::Tensor a, b;
  };
  Lora() = default;

  double scale_ = 0;
  std::vector<Adapter> adapters_;
};

/// The configuration and the frozen weights that adapters belong to.
struct LoraOrigin {
  LoraConfig config;
  std::string base;      // the folder of the frozen weights
  std::string checksum;  // of their values
};

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention over packed sequences of different lengths. On a GPU fused kernels
// compute it: no matrix of rows x columns, and keys and values of grouped heads are read in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/rope.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// The inputs that all layers of one forward pass over packed sequences share.
struct PackContext {
  ModelConfig config;
  RopeAngles angles;
  std::vector<int64_t> lengths;  // new tokens of each sequence, in order
  at::Tensor bounds;  // (B + 1) int32 on a GPU: where each of B sequences begins, and the end;
                      // undefined on a CPU
};

/// RMS norm over the last dimension (Zhang and Sennrich, arXiv 1910.07467, eq. 4):
/// x / sqrt(mean(x^2) + eps) * weight. Differentiable in both; computed in x's type, at least
/// float32.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// One pack's rotated queries (T, heads, d), keys and values (T, kv_heads, d).
struct Projected {
  at::Tensor queries;
  at::Tensor keys;
  at::Tensor values;
};

/// The results of a forward pass that its backward pass needs in addition to the inputs. Undefined
/// tensors: nothing was saved.
struct SavedAttention {
  at::Tensor output;       // (T, heads, d)
  at::Tensor log_sum_exp;  // of the kernel's own shape
  at::Tensor seed, offset;
};

/// True for tensors in half precision on a GPU, where the kernels below work.
bool is_fusable(const at::Tensor& queries);

/// Attention within each sequence of the pack. A single long sequence uses cuDNN's kernel, others
/// FlashAttention's variable-length kernel.
SavedAttention fused_attention(const PackContext& pack, const Projected& all);

/// The output of `saved`, with the gradient of `fused_attention`. Computes nothing forward.
at::Tensor fused_attention_from_saved(const PackContext& pack, const Projected& all,
                                      const SavedAttention& saved);

/// The last n rows of a sequence of m keys: queries (n, heads, d), keys and values
/// (m >= n, kv_heads, d) → (n, heads, d). Row i sees the first m - n + i + 1 keys. No gradients. A
/// long prefix uses cuDNN's kernel, merged with the rest by their sums of exponentials.
at::Tensor fused_continuation(const Projected& all);

/// The same in float32 on a GPU, with gradients.
at::Tensor wide_continuation(const Projected& all);

/// The pasts of a pack's sequences in one layer.
struct LayerPast {
  std::span<SequenceCache* const> caches;  // empty, or one per sequence
  int64_t layer = 0;
};

/// x (T, H), normalised → (T, H). Appends keys and values to the caches of `past`.
at::Tensor attend(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                  const LayerPast& past = {});

/// The same without a past, in two passes over the same values. The first, without gradients, fills
/// `saved` if fused kernels compute it; the second, with gradients, takes the output from there.
at::Tensor attend_and_save(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                           SavedAttention& saved);
at::Tensor attend_from_saved(const PackContext& pack, const LayerWeights& layer,
                             const at::Tensor& x, const SavedAttention& saved);

}  // namespace warpsmith::policy

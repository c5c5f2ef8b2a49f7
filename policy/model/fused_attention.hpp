// SPDX-License-Identifier: Apache-2.0
// Causal attention by fused kernels of a GPU: no matrix of rows x columns, and keys and values of
// grouped heads are read in place.
#pragma once

#include <ATen/core/Tensor.h>

#include "policy/model/pack_context.hpp"

namespace warpsmith::policy {

/// One pack's rotated queries (T, heads, d), keys and values (T, kv_heads, d).
struct Projected {
  at::Tensor queries;
  at::Tensor keys;
  at::Tensor values;
};

/// What the backward pass needs of a forward one besides its inputs. Undefined tensors: nothing was
/// kept.
struct KeptAttention {
  at::Tensor output;       // (T, heads, d)
  at::Tensor log_sum_exp;  // of the kernel's own shape
  at::Tensor seed, offset;
};

/// True for tensors in half precision on a GPU, where the kernels below work.
bool is_fusable(const at::Tensor& queries);

/// Attention within each sequence of the pack. A long sequence alone takes cuDNN's kernel, others
/// the variable-length one of FlashAttention.
KeptAttention fused_attention(const PackContext& pack, const Projected& all);

/// The output of `kept`, with the gradient of `fused_attention`. Computes nothing forward.
at::Tensor fused_attention_again(const PackContext& pack, const Projected& all,
                                 const KeptAttention& kept);

/// The last n rows of a sequence of m keys: queries (n, heads, d), keys and values
/// (m >= n, kv_heads, d) → (n, heads, d). Row i sees the first m - n + i + 1 keys. No gradients. A
/// long prefix takes cuDNN's kernel, merged with the rest by their sums of exponentials.
at::Tensor fused_continuation(const Projected& all);

/// The same in float32 on a GPU, with gradients.
at::Tensor wide_continuation(const Projected& all);

}  // namespace warpsmith::policy

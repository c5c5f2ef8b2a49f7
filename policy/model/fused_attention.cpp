// SPDX-License-Identifier: Apache-2.0
#include "policy/model/fused_attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// cuDNN's kernels are faster, but it builds a plan per shape, which pays only for a long sequence,
// and for a long prefix if it is read in few sizes.
constexpr int64_t cudnn_rows = 8192;
constexpr int64_t cudnn_head_dim = 128;
constexpr int64_t prefix_step = 16'384;
constexpr int64_t continued_step = 512;

bool takes_cudnn(at::IntArrayRef queries, size_t sequences) {
  return sequences == 1 && queries[0] >= cudnn_rows && queries[2] <= cudnn_head_dim;
}

/// (T, n, d) ↔ (1, n, T, d), without a copy.
at::Tensor heads_first(const at::Tensor& x) {
  return x.transpose(0, 1).unsqueeze(0);
}
at::Tensor rows_first(const at::Tensor& x) {
  return x.squeeze(0).transpose(0, 1);
}

KeptAttention cudnn_forward(const Projected& all) {
  const auto out = at::_scaled_dot_product_cudnn_attention(
      heads_first(all.queries), heads_first(all.keys), heads_first(all.values),
      /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/true, /*dropout_p=*/0.0,
      /*is_causal=*/true);
  return {rows_first(std::get<0>(out)), std::get<1>(out), std::get<6>(out), std::get<7>(out)};
}

Projected cudnn_backward(const at::Tensor& grad, const Projected& all, const KeptAttention& kept) {
  const int64_t rows = all.queries.size(0);
  const at::Tensor none;
  const auto [queries, keys, values] = at::_scaled_dot_product_cudnn_attention_backward(
      heads_first(grad), heads_first(all.queries), heads_first(all.keys), heads_first(all.values),
      heads_first(kept.output), kept.log_sum_exp, kept.seed, kept.offset, none, none, none, rows,
      rows, /*dropout_p=*/0.0, /*is_causal=*/true);
  return {rows_first(queries), rows_first(keys), rows_first(values)};
}

KeptAttention flash_forward(const Projected& all, const at::Tensor& bounds, int64_t longest) {
  const auto out = at::_flash_attention_forward(all.queries, all.keys, all.values, bounds, bounds,
                                                longest, longest, /*dropout_p=*/0.0,
                                                /*is_causal=*/true, /*return_debug_mask=*/false);
  return {std::get<0>(out), std::get<1>(out), std::get<2>(out), std::get<3>(out)};
}

/// Forward hands out what is kept; backward is that of the kernel which made it.
struct AgainFunction : torch::autograd::Function<AgainFunction> {
  /// `projected`: queries, keys, values.
  static at::Tensor forward(AutogradContext* ctx, at::TensorList projected, const PackContext& pack,
                            const KeptAttention& kept) {
    ctx->save_for_backward({projected[0], projected[1], projected[2], kept.output, kept.log_sum_exp,
                            kept.seed, kept.offset, pack.bounds});
    ctx->saved_data["longest"] = std::ranges::max(pack.lengths);
    return kept.output.detach();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Projected all{saved[0], saved[1], saved[2]};
    const KeptAttention kept{saved[3], saved[4], saved[5], saved[6]};
    const at::Tensor& bounds = saved[7];
    Projected d;
    if (takes_cudnn(all.queries.sizes(), static_cast<size_t>(bounds.size(0)) - 1)) {
      d = cudnn_backward(grads[0], all, kept);
    } else {
      const int64_t longest = ctx->saved_data["longest"].toInt();
      std::tie(d.queries, d.keys, d.values) = at::_flash_attention_backward(
          grads[0], all.queries, all.keys, all.values, kept.output, kept.log_sum_exp, bounds,
          bounds, longest, longest, /*dropout_p=*/0.0, /*is_causal=*/true, kept.seed, kept.offset);
    }
    return {d.queries, d.keys, d.values, at::Tensor(), at::Tensor()};
  }
};

/// Attention to some of the keys, which that to the others completes.
struct PartialAttention {
  at::Tensor output;       // (n, heads, d)
  at::Tensor log_sum_exp;  // (n, heads, 1), float32
};

/// Every row sees every key.
PartialAttention attend_prefix(const Projected& all) {
  const auto out = at::_scaled_dot_product_cudnn_attention(
      heads_first(all.queries), heads_first(all.keys), heads_first(all.values),
      /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/true, /*dropout_p=*/0.0,
      /*is_causal=*/false);
  const int64_t heads = all.queries.size(1);
  return {rows_first(std::get<0>(out)), std::get<1>(out).view({heads, -1}).t().unsqueeze(-1)};
}

/// Row i sees the first m - n + i + 1 keys.
PartialAttention attend_last(const Projected& all) {
  const auto out = at::_flash_attention_forward(
      all.queries.unsqueeze(0), all.keys.unsqueeze(0), all.values.unsqueeze(0), std::nullopt,
      std::nullopt, all.queries.size(0), all.keys.size(0), /*dropout_p=*/0.0, /*is_causal=*/true,
      /*return_debug_mask=*/false);
  return {std::get<0>(out).squeeze(0), std::get<1>(out).squeeze(0).t().unsqueeze(-1)};
}

at::Tensor merged(const PartialAttention& a, const PartialAttention& b) {
  const at::Tensor share = at::sigmoid(a.log_sum_exp - b.log_sum_exp);
  return (b.output + share * (a.output - b.output)).to(a.output.scalar_type());
}

Projected slice(const Projected& all, int64_t first_row, int64_t rows, int64_t first_key,
                int64_t keys) {
  return {all.queries.narrow(0, first_row, rows), all.keys.narrow(0, first_key, keys),
          all.values.narrow(0, first_key, keys)};
}

/// (n, heads, d) → (kv_heads, n, group, d): the heads that share keys side by side, not copied.
at::Tensor grouped(const at::Tensor& x, int64_t kv_heads) {
  return x.unflatten(1, {kv_heads, -1}).permute({1, 0, 2, 3});
}

}  // namespace

bool is_fusable(const at::Tensor& queries) {
  return queries.is_cuda() &&
         (queries.scalar_type() == at::kBFloat16 || queries.scalar_type() == at::kHalf);
}

KeptAttention fused_attention(const PackContext& pack, const Projected& all) {
  if (takes_cudnn(all.queries.sizes(), pack.lengths.size())) return cudnn_forward(all);
  return flash_forward(all, pack.bounds, std::ranges::max(pack.lengths));
}

at::Tensor fused_attention_again(const PackContext& pack, const Projected& all,
                                 const KeptAttention& kept) {
  const variable_list projected{all.queries, all.keys, all.values};
  return AgainFunction::apply(at::TensorList(projected), pack, kept);
}

at::Tensor fused_continuation(const Projected& all) {
  const int64_t n = all.queries.size(0);
  const int64_t m = all.keys.size(0);
  const int64_t prefix = (m - n) / prefix_step * prefix_step;
  const int64_t rows = n / continued_step * continued_step;
  const bool is_long = prefix > 0 && rows > 0 && all.queries.size(2) <= cudnn_head_dim;
  if (!is_long) return attend_last(all).output;
  at::Tensor first = merged(attend_prefix(slice(all, 0, rows, 0, prefix)),
                            attend_last(slice(all, 0, rows, prefix, m - n + rows - prefix)));
  if (rows == n) return first;
  return at::cat({first, attend_last(slice(all, rows, n - rows, 0, m)).output}, 0);
}

at::Tensor wide_continuation(const Projected& all) {
  constexpr int64_t causal_from_bottom_right = 2;
  const int64_t kv_heads = all.keys.size(1);
  const at::Tensor queries = grouped(all.queries, kv_heads);
  const auto shared = [&](const at::Tensor& x) {
    return grouped(x, kv_heads).expand({-1, -1, queries.size(2), -1});
  };
  const auto out = at::_efficient_attention_forward(
      queries, shared(all.keys), shared(all.values), /*bias=*/std::nullopt, std::nullopt,
      std::nullopt, std::nullopt, std::nullopt, /*dropout_p=*/0.0, causal_from_bottom_right,
      /*compute_log_sumexp=*/at::GradMode::is_enabled());
  return std::get<0>(out).permute({1, 0, 2, 3}).flatten(1, 2);
}

}  // namespace warpsmith::policy

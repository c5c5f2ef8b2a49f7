// SPDX-License-Identifier: Apache-2.0
#include "policy/model/attention.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_efficient_attention_forward.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sigmoid.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// cuDNN's kernels are faster, but it builds a plan per shape, which pays off only for a long
// sequence, and for a long prefix that is read in few sizes.
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

SavedAttention cudnn_forward(const Projected& all) {
  const auto out = at::_scaled_dot_product_cudnn_attention(
      heads_first(all.queries), heads_first(all.keys), heads_first(all.values),
      /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/true, /*dropout_p=*/0.0,
      /*is_causal=*/true);
  return {rows_first(std::get<0>(out)), std::get<1>(out), std::get<6>(out), std::get<7>(out)};
}

Projected cudnn_backward(const at::Tensor& grad, const Projected& all,
                         const SavedAttention& saved) {
  const int64_t rows = all.queries.size(0);
  const at::Tensor none;
  const auto [queries, keys, values] = at::_scaled_dot_product_cudnn_attention_backward(
      heads_first(grad), heads_first(all.queries), heads_first(all.keys), heads_first(all.values),
      heads_first(saved.output), saved.log_sum_exp, saved.seed, saved.offset, none, none, none,
      rows, rows, /*dropout_p=*/0.0, /*is_causal=*/true);
  return {rows_first(queries), rows_first(keys), rows_first(values)};
}

SavedAttention flash_forward(const Projected& all, const at::Tensor& bounds, int64_t longest) {
  const auto out = at::_flash_attention_forward(all.queries, all.keys, all.values, bounds, bounds,
                                                longest, longest, /*dropout_p=*/0.0,
                                                /*is_causal=*/true, /*return_debug_mask=*/false);
  return {std::get<0>(out), std::get<1>(out), std::get<2>(out), std::get<3>(out)};
}

/// Forward returns the saved output; backward is that of the kernel that computed it.
struct SavedAttentionFunction : torch::autograd::Function<SavedAttentionFunction> {
  /// `projected`: queries, keys, values.
  static at::Tensor forward(AutogradContext* ctx, at::TensorList projected, const PackContext& pack,
                            const SavedAttention& saved) {
    ctx->save_for_backward({projected[0], projected[1], projected[2], saved.output,
                            saved.log_sum_exp, saved.seed, saved.offset, pack.bounds});
    ctx->saved_data["longest"] = std::ranges::max(pack.lengths);
    return saved.output.detach();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list tensors = ctx->get_saved_variables();
    const Projected all{tensors[0], tensors[1], tensors[2]};
    const SavedAttention saved{tensors[3], tensors[4], tensors[5], tensors[6]};
    const at::Tensor& bounds = tensors[7];
    Projected d;
    if (takes_cudnn(all.queries.sizes(), static_cast<size_t>(bounds.size(0)) - 1)) {
      d = cudnn_backward(grads[0], all, saved);
    } else {
      const int64_t longest = ctx->saved_data["longest"].toInt();
      std::tie(d.queries, d.keys, d.values) = at::_flash_attention_backward(
          grads[0], all.queries, all.keys, all.values, saved.output, saved.log_sum_exp, bounds,
          bounds, longest, longest, /*dropout_p=*/0.0, /*is_causal=*/true, saved.seed,
          saved.offset);
    }
    return {d.queries, d.keys, d.values, at::Tensor(), at::Tensor()};
  }
};

/// Attention to some of the keys, to be merged with attention to the others.
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

Projected project(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x) {
  const ModelConfig& c = pack.config;
  const at::Tensor all = at::linear(x, layer.qkv, layer.qkv_bias)
                             .view({x.size(0), c.heads + 2 * c.kv_heads, c.head_dim});
  const std::vector<at::Tensor> parts = all.split_with_sizes({c.heads, c.kv_heads, c.kv_heads}, 1);
  const auto turned = [&](const at::Tensor& part, const at::Tensor& norm) {
    return rotate(c.qk_norm ? rms_norm(part, norm, c.rms_eps) : part, pack.angles);
  };
  return {turned(parts[0], layer.q_norm), turned(parts[1], layer.k_norm), parts[2]};
}

/// (rows, columns) true where query row i, at position past + i, may see key column j.
at::Tensor causal_mask(int64_t rows, int64_t columns, const at::Tensor& like) {
  return at::ones({rows, columns}, like.options().dtype(at::kBool)).tril(columns - rows);
}

at::Tensor masked_continuation(const Projected& all) {
  const auto per_head = [](const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  const int64_t rows = all.queries.size(0);
  const int64_t columns = all.keys.size(0);
  const bool square = rows == columns;
  std::optional<at::Tensor> mask;
  if (!square && rows > 1) mask = causal_mask(rows, columns, all.queries);
  const at::Tensor mixed = at::scaled_dot_product_attention(
      per_head(all.queries), per_head(all.keys), per_head(all.values), mask, /*dropout_p=*/0.0,
      /*is_causal=*/square && rows > 1, /*scale=*/std::nullopt,
      /*enable_gqa=*/all.queries.size(1) != all.keys.size(1));
  return mixed.squeeze(0).transpose(0, 1);
}

/// One sequence: queries (n, heads, d) against keys (m >= n, kv_heads, d) → (n, heads x d).
at::Tensor attend_one(const Projected& all) {
  const auto continuation = is_fusable(all.queries) ? fused_continuation
                            : all.queries.is_cuda() ? wide_continuation
                                                    : masked_continuation;
  return continuation(all).reshape({all.queries.size(0), -1});
}

/// Each sequence separately, after its past → (T, heads x d).
at::Tensor attend_each(const PackContext& pack, const Projected& all, const LayerPast& past) {
  std::vector<at::Tensor> mixed;
  mixed.reserve(pack.lengths.size());
  int64_t first = 0;
  for (size_t i = 0; i < pack.lengths.size(); ++i) {
    const int64_t count = pack.lengths[i];
    const auto rows = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
    SequenceCache::KeysValues kv{rows(all.keys), rows(all.values)};
    if (!past.caches.empty()) kv = past.caches[i]->append(past.layer, kv.keys, kv.values);
    mixed.push_back(attend_one({rows(all.queries), kv.keys, kv.values}));
    first += count;
  }
  return mixed.size() == 1 ? mixed.front() : at::cat(mixed, 0);
}

/// mixed (T, heads, d) or (T, heads x d) → (T, H).
at::Tensor project_out(const LayerWeights& layer, const at::Tensor& mixed) {
  return at::linear(mixed.reshape({mixed.size(0), -1}), layer.out, layer.out_bias);
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return at::rms_norm(x, weight.sizes(), weight, eps);
}

bool is_fusable(const at::Tensor& queries) {
  return queries.is_cuda() &&
         (queries.scalar_type() == at::kBFloat16 || queries.scalar_type() == at::kHalf);
}

SavedAttention fused_attention(const PackContext& pack, const Projected& all) {
  if (takes_cudnn(all.queries.sizes(), pack.lengths.size())) return cudnn_forward(all);
  return flash_forward(all, pack.bounds, std::ranges::max(pack.lengths));
}

at::Tensor fused_attention_from_saved(const PackContext& pack, const Projected& all,
                                      const SavedAttention& saved) {
  const variable_list projected{all.queries, all.keys, all.values};
  return SavedAttentionFunction::apply(at::TensorList(projected), pack, saved);
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

at::Tensor attend(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                  const LayerPast& past) {
  const Projected all = project(pack, layer, x);
  const bool packed = past.caches.empty() && is_fusable(all.queries);
  return project_out(layer,
                     packed ? fused_attention(pack, all).output : attend_each(pack, all, past));
}

at::Tensor attend_and_save(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                           SavedAttention& saved) {
  const Projected all = project(pack, layer, x);
  if (!is_fusable(all.queries)) return project_out(layer, attend_each(pack, all, {}));
  saved = fused_attention(pack, all);
  return project_out(layer, saved.output);
}

at::Tensor attend_from_saved(const PackContext& pack, const LayerWeights& layer,
                             const at::Tensor& x, const SavedAttention& saved) {
  const Projected all = project(pack, layer, x);
  return project_out(layer, saved.output.defined() ? fused_attention_from_saved(pack, all, saved)
                                                   : attend_each(pack, all, {}));
}

}  // namespace warpsmith::policy

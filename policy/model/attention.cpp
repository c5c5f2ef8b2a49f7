// SPDX-License-Identifier: Apache-2.0
#include "policy/model/attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "policy/model/norm.hpp"

namespace warpsmith::policy {
namespace {

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

/// Each sequence on its own, after its past → (T, heads x d).
at::Tensor attend_each(const PackContext& pack, const Projected& all, const LayerPast& past) {
  std::vector<at::Tensor> mixed;
  mixed.reserve(pack.lengths.size());
  int64_t first = 0;
  for (size_t i = 0; i < pack.lengths.size(); ++i) {
    const int64_t count = pack.lengths[i];
    const auto rows = [&](const at::Tensor& x) { return x.narrow(0, first, count); };
    SequenceCache::KeysValues kept{rows(all.keys), rows(all.values)};
    if (!past.caches.empty()) kept = past.caches[i]->append(past.layer, kept.keys, kept.values);
    mixed.push_back(attend_one({rows(all.queries), kept.keys, kept.values}));
    first += count;
  }
  return mixed.size() == 1 ? mixed.front() : at::cat(mixed, 0);
}

/// mixed (T, heads, d) or (T, heads x d) → (T, H).
at::Tensor project_out(const LayerWeights& layer, const at::Tensor& mixed) {
  return at::linear(mixed.reshape({mixed.size(0), -1}), layer.out, layer.out_bias);
}

}  // namespace

at::Tensor attend(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                  const LayerPast& past) {
  const Projected all = project(pack, layer, x);
  const bool packed = past.caches.empty() && is_fusable(all.queries);
  return project_out(layer,
                     packed ? fused_attention(pack, all).output : attend_each(pack, all, past));
}

at::Tensor attend_and_keep(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                           KeptAttention& kept) {
  const Projected all = project(pack, layer, x);
  if (!is_fusable(all.queries)) return project_out(layer, attend_each(pack, all, {}));
  kept = fused_attention(pack, all);
  return project_out(layer, kept.output);
}

at::Tensor attend_again(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                        const KeptAttention& kept) {
  const Projected all = project(pack, layer, x);
  return project_out(layer, kept.output.defined() ? fused_attention_again(pack, all, kept)
                                                  : attend_each(pack, all, {}));
}

}  // namespace warpsmith::policy

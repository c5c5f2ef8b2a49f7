// SPDX-License-Identifier: Apache-2.0
#include "policy/model/attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "policy/model/norm.hpp"

namespace warpsmith::policy {
namespace {

struct Projected {
  at::Tensor queries;  // (T, heads, head_dim), rotated
  at::Tensor keys;     // (T, kv_heads, head_dim), rotated
  at::Tensor values;   // (T, kv_heads, head_dim)
};

Projected project(const AttentionContext& in, const LayerWeights& layer, const at::Tensor& x) {
  const ModelConfig& c = in.config;
  const int64_t rotated = c.heads + c.kv_heads;
  const at::Tensor all =
      at::linear(x, layer.qkv, layer.qkv_bias).view({x.size(0), rotated + c.kv_heads, c.head_dim});
  at::Tensor queries_keys = all.narrow(1, 0, rotated);
  if (c.qk_norm) {
    queries_keys = at::cat({rms_norm(all.narrow(1, 0, c.heads), layer.q_norm, c.rms_eps),
                            rms_norm(all.narrow(1, c.heads, c.kv_heads), layer.k_norm, c.rms_eps)},
                           1);
  }
  queries_keys = rotate(queries_keys, in.angles);
  return {queries_keys.narrow(1, 0, c.heads), queries_keys.narrow(1, c.heads, c.kv_heads),
          all.narrow(1, rotated, c.kv_heads)};
}

/// (rows, columns) true where query row i, at position past + i, may see key column j.
at::Tensor causal_mask(int64_t rows, int64_t columns, const at::Tensor& like) {
  return at::ones({rows, columns}, like.options().dtype(at::kBool)).tril(columns - rows);
}

/// One sequence: queries (n, heads, d) against keys (m >= n, kv_heads, d) → (n, heads x d).
at::Tensor attend_one(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
  const auto per_head = [](const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  const int64_t rows = queries.size(0);
  const int64_t columns = keys.size(0);
  const bool square = rows == columns;
  std::optional<at::Tensor> mask;
  if (!square && rows > 1) mask = causal_mask(rows, columns, queries);
  const at::Tensor mixed = at::scaled_dot_product_attention(
      per_head(queries), per_head(keys), per_head(values), mask, /*dropout_p=*/0.0,
      /*is_causal=*/square && rows > 1, /*scale=*/std::nullopt,
      /*enable_gqa=*/queries.size(1) != keys.size(1));
  return mixed.squeeze(0).transpose(0, 1).reshape({rows, -1});
}

}  // namespace

at::Tensor attend(const AttentionContext& in, const LayerWeights& layer, int64_t index,
                  const at::Tensor& x) {
  const Projected all = project(in, layer, x);
  const SequenceLayout& layout = in.layout;
  std::vector<at::Tensor> mixed;
  mixed.reserve(layout.lengths.size());
  int64_t first = 0;
  for (size_t i = 0; i < layout.lengths.size(); ++i) {
    const int64_t count = layout.lengths[i];
    SequenceCache::KeysValues past{all.keys.narrow(0, first, count),
                                   all.values.narrow(0, first, count)};
    if (!layout.caches.empty()) past = layout.caches[i]->append(index, past.keys, past.values);
    mixed.push_back(attend_one(all.queries.narrow(0, first, count), past.keys, past.values));
    first += count;
  }
  const at::Tensor joined = mixed.size() == 1 ? mixed.front() : at::cat(mixed, 0);
  return at::linear(joined, layer.out, layer.out_bias);
}

}  // namespace warpsmith::policy

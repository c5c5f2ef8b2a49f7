// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/decode_model.hpp"

#include <ATen/ops/arange.h>

#include <algorithm>

#include "policy/model/rope.hpp"

namespace warpsmith::policy {
namespace {

using kernels::PackedMatrix;
using kernels::Rows;

std::vector<float> floats_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* data = flat.const_data_ptr<float>();
  return {data, data + flat.numel()};
}

PackedMatrix pack(const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor flat = weight.detach().to(at::kCPU, at::kFloat).contiguous();
  PackedMatrix packed =
      kernels::pack_matrix({flat.const_data_ptr<float>(), static_cast<size_t>(flat.numel())},
                           flat.size(0), flat.size(1));
  packed.bias = floats_of(bias);
  return packed;
}

std::span<const float> row_of(const std::vector<float>& table, int64_t row, int64_t width) {
  return std::span(table).subspan(static_cast<size_t>(row * width), static_cast<size_t>(width));
}

}  // namespace

DecodeModel::DecodeModel(const ModelConfig& config, const ModelWeights& weights,
                         int64_t max_positions)
    : config_(config),
      embed_(floats_of(weights.embed)),
      final_norm_(floats_of(weights.final_norm)),
      head_(pack(weights.head, {})) {
  for (const LayerWeights& l : weights.layers) {
    layers_.push_back({floats_of(l.input_norm), floats_of(l.post_norm), floats_of(l.q_norm),
                       floats_of(l.k_norm), pack(l.qkv, l.qkv_bias), pack(l.out, l.out_bias),
                       pack(l.gate_up, l.gate_up_bias), pack(l.down, l.down_bias)});
  }
  const RopeAngles angles =
      rope_angles(rope_frequencies(config), at::arange(max_positions, at::kLong), at::kFloat,
                  rope_magnitude(config));
  cos_ = floats_of(angles.cos);
  sin_ = floats_of(angles.sin);
}

Rows DecodeModel::rows_of(std::vector<float>& buffer, int64_t count, int64_t width) const {
  const auto needed = static_cast<size_t>(count * width);
  if (buffer.size() < needed) buffer.resize(needed);
  return {buffer.data(), count, width};
}

std::span<const float> DecodeModel::forward(std::span<const DecodeRow> rows, KvCache& cache) {
  const auto count = static_cast<int64_t>(rows.size());
  embed(rows, rows_of(buffers_.hidden, count, config_.hidden));
  for (int64_t i = 0; i < config_.layers; ++i) {
    const Layer& layer = layers_[static_cast<size_t>(i)];
    attention(layer, i, rows, cache);
    feed_forward(layer, count);
  }
  return head(rows);
}

void DecodeModel::embed(std::span<const DecodeRow> rows, const Rows& hidden) const {
  for (int64_t i = 0; i < hidden.count; ++i) {
    const auto from = row_of(embed_, rows[static_cast<size_t>(i)].token, config_.hidden);
    std::copy(from.begin(), from.end(), hidden.row(i));
  }
}

void DecodeModel::rotate_and_store(const Layer& layer, int64_t index, const DecodeRow& row,
                                   float* qkv, KvCache& cache) const {
  const int64_t d = config_.head_dim;
  float* keys = qkv + config_.q_size();
  if (config_.qk_norm) {
    const Rows queries{qkv, config_.heads, d};
    const Rows key_rows{keys, config_.kv_heads, d};
    kernels::rms_norm(queries, layer.q_norm, config_.rms_eps, queries);
    kernels::rms_norm(key_rows, layer.k_norm, config_.rms_eps, key_rows);
  }
  kernels::rotate(qkv, config_.heads + config_.kv_heads, row_of(cos_, row.position, d / 2),
                  row_of(sin_, row.position, d / 2));
  const BlockId block = row.blocks[static_cast<size_t>(row.position / block_tokens)];
  cache.put(index, block, row.position % block_tokens, keys, keys + config_.kv_size());
}

void DecodeModel::attention(const Layer& layer, int64_t index, std::span<const DecodeRow> rows,
                            KvCache& cache) {
  const auto count = static_cast<int64_t>(rows.size());
  const Rows hidden = rows_of(buffers_.hidden, count, config_.hidden);
  const Rows normed = rows_of(buffers_.normed, count, config_.hidden);
  const Rows qkv = rows_of(buffers_.wide, count, config_.qkv_size());
  const Rows mixed = rows_of(buffers_.mixed, count, config_.q_size());
  kernels::rms_norm(hidden, layer.input_norm, config_.rms_eps, normed);
  kernels::multiply(normed, layer.qkv, qkv, kernels::Store::replace);
  for (int64_t i = 0; i < count; ++i) {
    rotate_and_store(layer, index, rows[static_cast<size_t>(i)], qkv.row(i), cache);
  }
  for (int64_t i = 0; i < count; ++i) {
    const DecodeRow& row = rows[static_cast<size_t>(i)];
    kernels::attend(qkv.row(i), cache.view(index, row.blocks, row.position + 1), cache.shape(),
                    buffers_.scratch, mixed.row(i));
  }
  kernels::multiply(mixed, layer.out, hidden, kernels::Store::add);
}

void DecodeModel::feed_forward(const Layer& layer, int64_t count) {
  const Rows hidden = rows_of(buffers_.hidden, count, config_.hidden);
  const Rows normed = rows_of(buffers_.normed, count, config_.hidden);
  const Rows both = rows_of(buffers_.wide, count, 2 * config_.ffn);
  const Rows gated = rows_of(buffers_.mixed, count, config_.ffn);
  kernels::rms_norm(hidden, layer.post_norm, config_.rms_eps, normed);
  kernels::multiply(normed, layer.gate_up, both, kernels::Store::replace);
  kernels::gate(both, gated);
  kernels::multiply(gated, layer.down, hidden, kernels::Store::add);
}

std::span<const float> DecodeModel::head(std::span<const DecodeRow> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const Rows hidden = rows_of(buffers_.hidden, count, config_.hidden);
  const Rows chosen = rows_of(buffers_.normed, count, config_.hidden);
  int64_t wanted = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (rows[static_cast<size_t>(i)].sample == nullptr) continue;
    std::copy_n(hidden.row(i), config_.hidden, chosen.row(wanted++));
  }
  const Rows last{chosen.data, wanted, config_.hidden};
  kernels::rms_norm(last, final_norm_, config_.rms_eps, last);
  const Rows logits = rows_of(buffers_.logits, wanted, config_.vocab);
  kernels::multiply(last, head_, logits, kernels::Store::replace);
  return {logits.data, static_cast<size_t>(wanted * config_.vocab)};
}

}  // namespace warpsmith::policy

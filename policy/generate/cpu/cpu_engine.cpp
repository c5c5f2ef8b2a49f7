// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/cpu_engine.hpp"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policy/generate/cpu/kernels.hpp"
#include "policy/generate/cpu/sampler.hpp"
#include "policy/generate/engine/backend.hpp"
#include "policy/generate/engine/kv_blocks.hpp"
#include "policy/model/config.hpp"
#include "policy/model/rope.hpp"
#include "policy/model/transformer.hpp"

namespace warpsmith::policy {
namespace {

using kernels::PackedMatrix;
using kernels::Rows;

/// The paged KV cache: keys and values of every layer, float32, by block. Layout per layer: (block,
/// kv_head, ...). Keys are (head_dim, 16 positions), so that 16 scores are one vector; values are
/// (16 positions, padded_dim). Memory is used when a block is first written.
class KvCache {
 public:
  KvCache(const ModelConfig& config, int64_t blocks);

  const kernels::HeadShape& shape() const { return shape_; }

  /// Stores one position's key and value (kv_heads, head_dim each) of a layer. The first position
  /// of a block zeroes the rest: `attend` reads it with weight 0, and 0 times NaN is not 0.
  void put(int64_t layer, BlockId block, int64_t slot, const float* key, const float* value);
  kernels::CacheView view(int64_t layer, std::span<const BlockId> blocks, int64_t length) const;

 private:
  void clear(int64_t base);
  struct Free {
    void operator()(float* data) const noexcept;
  };
  int64_t layer_stride() const { return blocks_ * block_stride_; }

  kernels::HeadShape shape_;
  int64_t blocks_;
  int64_t head_stride_;   // floats of one head's block
  int64_t block_stride_;  // floats of one block, all heads
  std::unique_ptr<float[], Free> keys_;
  std::unique_ptr<float[], Free> values_;
};

kernels::HeadShape shape_of(const ModelConfig& config) {
  return {config.heads, config.kv_heads, config.head_dim, (config.head_dim + 15) / 16 * 16};
}

/// Zeroed, because padding must be zero; calloc does not touch pages, so an unused cache is free.
float* allocate(int64_t floats) {
  void* data = std::calloc(static_cast<size_t>(floats), sizeof(float));
  if (data == nullptr) throw std::bad_alloc();
  return static_cast<float*>(data);
}

void KvCache::Free::operator()(float* data) const noexcept {
  std::free(data);
}

KvCache::KvCache(const ModelConfig& config, int64_t blocks)
    : shape_(shape_of(config)),
      blocks_(blocks),
      head_stride_(shape_.padded_dim * block_tokens),
      block_stride_(shape_.kv_heads * head_stride_),
      keys_(allocate(config.layers * layer_stride())),
      values_(allocate(config.layers * layer_stride())) {}

void KvCache::clear(int64_t base) {
  std::fill_n(keys_.get() + base, block_stride_, 0.0F);
  std::fill_n(values_.get() + base, block_stride_, 0.0F);
}

void KvCache::put(int64_t layer, BlockId block, int64_t slot, const float* key,
                  const float* value) {
  const int64_t base = layer * layer_stride() + block * block_stride_;
  if (slot == 0) clear(base);
  for (int64_t h = 0; h < shape_.kv_heads; ++h) {
    float* keys = keys_.get() + base + h * head_stride_ + slot;
    float* values = values_.get() + base + h * head_stride_ + slot * shape_.padded_dim;
    for (int64_t d = 0; d < shape_.head_dim; ++d) {
      keys[d * block_tokens] = key[h * shape_.head_dim + d];
      values[d] = value[h * shape_.head_dim + d];
    }
  }
}

kernels::CacheView KvCache::view(int64_t layer, std::span<const BlockId> blocks,
                                 int64_t length) const {
  const int64_t base = layer * layer_stride();
  return {keys_.get() + base, values_.get() + base, block_stride_, head_stride_, blocks, length};
}

/// The transformer's forward pass for generation: rows of many sequences, a packed float32 copy of
/// one version's weights, and the buffers of one step. Computes what Transformer computes.
class DecodeModel {
 public:
  /// Computes positions from 0 to `max_positions` - 1.
  DecodeModel(const ModelConfig& config, const ModelWeights& weights, int64_t max_positions);

  /// Computes all rows, layer by layer. Returns the logits (n, vocab) of the n rows to sample, in
  /// order; valid until the next call.
  std::span<const float> forward(std::span<const DecodeRow> rows, KvCache& cache);

 private:
  struct Layer {
    std::vector<float> input_norm, post_norm, q_norm, k_norm;
    PackedMatrix qkv, out, gate_up, down;
  };
  struct Buffers {
    std::vector<float> hidden, normed, wide, mixed, logits, scratch;
  };

  void embed(std::span<const DecodeRow> rows, const Rows& hidden) const;
  void attention(const Layer& layer, int64_t index, std::span<const DecodeRow> rows,
                 KvCache& cache);
  void rotate_and_store(const Layer& layer, int64_t index, const DecodeRow& row, float* qkv,
                        KvCache& cache) const;
  void feed_forward(const Layer& layer, int64_t count);
  std::span<const float> head(std::span<const DecodeRow> rows);
  Rows rows_of(std::vector<float>& buffer, int64_t count, int64_t width) const;

  ModelConfig config_;
  std::vector<float> embed_;  // (V, H)
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  PackedMatrix head_;
  std::vector<float> cos_, sin_;  // (max_positions, head_dim / 2)
  Buffers buffers_;
};

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

/// Computes each batch in `start`.
class CpuBackend final : public Backend {
 public:
  CpuBackend(const ModelConfig& model, const EngineConfig& config)
      : model_config_(model),
        max_positions_(config.max_session_tokens),
        cache_(model, config.blocks()) {}

  int64_t vocab() const override { return model_config_.vocab; }
  bool runs_ahead() const override { return false; }
  void adopt(const ModelWeights& weights) override {
    model_.emplace(model_config_, weights, max_positions_);
  }
  void start(std::span<const DecodeRow> rows) override;
  std::vector<SampledToken> finish() override { return std::exchange(samples_, {}); }

 private:
  ModelConfig model_config_;
  int64_t max_positions_;
  KvCache cache_;
  std::optional<DecodeModel> model_;
  std::vector<SampledToken> samples_;
};

void CpuBackend::start(std::span<const DecodeRow> rows) {
  std::span<const float> logits = model_->forward(rows, cache_);
  const auto vocab = static_cast<size_t>(model_config_.vocab);
  for (const DecodeRow& row : rows) {
    if (row.sample == nullptr) continue;
    samples_.push_back(sample_token(logits.first(vocab), *row.sample, row.uniform));
    logits = logits.subspan(vocab);
  }
}

}  // namespace

Result<std::unique_ptr<Engine>> make_cpu_engine(const ModelConfig& model,
                                                const EngineConfig& config) {
  TRY_VOID(model.validate());
  TRY_VOID(config.validate());
  return Engine::make(std::make_unique<CpuBackend>(model, config), config);
}

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// The paged KV cache: keys and values of every layer, float32, by block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "policy/generate/cpu/kernels.hpp"
#include "policy/generate/engine/block_pool.hpp"
#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Layout per layer: (block, kv_head, ...). Keys are (head_dim, 16 positions), so that 16 scores
/// are one vector; values are (16 positions, padded_dim). Memory is used when a block is first
/// written.
class KvCache {
 public:
  KvCache(const ModelConfig& config, int64_t blocks);

  const kernels::HeadShape& shape() const { return shape_; }

  /// Stores one position's key and value (kv_heads, head_dim each) of a layer. The first position
  /// of a block zeroes the rest: `attend` reads it with weight 0, but 0 times a NaN is not 0.
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

}  // namespace warpsmith::policy

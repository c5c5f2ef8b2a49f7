// SPDX-License-Identifier: Apache-2.0
// The memory behind block ids: keys and values of every layer, float32, on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "policy/generate/block_pool.hpp"
#include "policy/generate/kernels.hpp"
#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Layout per layer: (block, kv_head, ...). Keys lie dimension by dimension, (head_dim, 16
/// positions), so that sixteen scores are one vector; values position by position, (16 positions,
/// padded_dim). Pages are touched only when a block is first written.
class KvCache {
 public:
  KvCache(const ModelConfig& config, int64_t blocks);

  const kernels::HeadShape& shape() const { return shape_; }

  /// Zeroes a block that is taken anew: positions not yet written are read with weight zero, and
  /// zero times what a diverged model left there would not be zero.
  void clear(BlockId block);
  /// Stores one position's key and value (kv_heads, head_dim each) of a layer.
  void put(int64_t layer, BlockId block, int64_t slot, const float* key, const float* value);
  kernels::CacheView view(int64_t layer, std::span<const BlockId> blocks, int64_t length) const;

 private:
  struct Free {
    void operator()(float* data) const noexcept;
  };
  int64_t layer_stride() const { return blocks_ * block_stride_; }

  kernels::HeadShape shape_;
  int64_t blocks_;
  int64_t head_stride_;   // floats of one head's block
  int64_t block_stride_;  // floats of one block, all heads
  int64_t layers_;
  std::unique_ptr<float[], Free> keys_;
  std::unique_ptr<float[], Free> values_;
};

}  // namespace warpsmith::policy

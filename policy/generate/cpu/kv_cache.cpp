// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/kv_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace warpsmith::policy {
namespace {

kernels::HeadShape shape_of(const ModelConfig& config) {
  return {config.heads, config.kv_heads, config.head_dim, (config.head_dim + 15) / 16 * 16};
}

/// Zeroed, because padding must be zero; calloc does not touch pages, so an unused cache is free.
float* allocate(int64_t floats) {
  void* data = std::calloc(static_cast<size_t>(floats), sizeof(float));
  if (data == nullptr) throw std::bad_alloc();
  return static_cast<float*>(data);
}

}  // namespace

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

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "policy/model/sequence_cache.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace warpsmith::policy {

SequenceCache::SequenceCache(const ModelConfig& config)
    : layers_(static_cast<size_t>(config.layers)) {}

int64_t SequenceCache::bytes() const {
  int64_t total = 0;
  for (const KeysValues& layer : layers_) {
    if (layer.keys.defined()) total += 2 * layer.keys.numel() * layer.keys.element_size();
  }
  return total;
}

void SequenceCache::reserve(KeysValues& store, int64_t tokens, const at::Tensor& like) const {
  constexpr int64_t smallest = 64;
  const int64_t capacity = store.keys.defined() ? store.keys.size(0) : 0;
  if (tokens <= capacity) return;
  const int64_t grown = std::max({smallest, 2 * capacity, tokens});
  for (at::Tensor* tensor : {&store.keys, &store.values}) {
    at::Tensor larger = at::empty({grown, like.size(1), like.size(2)}, like.options());
    if (length_ > 0) larger.narrow(0, 0, length_).copy_(tensor->narrow(0, 0, length_));
    *tensor = larger;
  }
}

SequenceCache::KeysValues SequenceCache::append(int64_t layer, const at::Tensor& keys,
                                                const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  KeysValues& store = layers_.at(static_cast<size_t>(layer));
  const int64_t added = keys.size(0);
  reserve(store, length_ + added, keys);
  store.keys.narrow(0, length_, added).copy_(keys);
  store.values.narrow(0, length_, added).copy_(values);
  return {store.keys.narrow(0, 0, length_ + added), store.values.narrow(0, 0, length_ + added)};
}

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
#include "policy/model/sequence_cache.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace warpsmith::policy {

SequenceCache::SequenceCache(const ModelConfig& config, const at::TensorOptions& options)
    : row_shape_{config.kv_heads, config.head_dim},
      max_positions_(config.max_positions),
      options_(options),
      layers_(static_cast<size_t>(config.layers)) {}

int64_t SequenceCache::capacity_for(int64_t tokens) const {
  constexpr int64_t smallest = 64;
  if (tokens <= capacity_) return capacity_;
  const int64_t doubled = 2 * capacity_;
  const int64_t most = tokens <= max_positions_ ? max_positions_ : doubled;
  return std::max({smallest, std::min(doubled, most), tokens});
}

/// The bytes of keys and values in all layers.
int64_t SequenceCache::bytes_of_rows(int64_t count) const {
  const auto element = static_cast<int64_t>(options_.dtype().itemsize());
  const auto layers = static_cast<int64_t>(layers_.size());
  return 2 * layers * count * row_shape_[0] * row_shape_[1] * element;
}

int64_t SequenceCache::bytes_with(int64_t tokens) const {
  return is_on_host() || tokens == 0 ? 0 : bytes_of_rows(capacity_for(tokens));
}

int64_t SequenceCache::host_bytes_with(int64_t tokens) const {
  if (!is_on_host()) return 0;
  const int64_t chunks = (tokens + HostRows::chunk_rows - 1) / HostRows::chunk_rows;
  return bytes_of_rows(chunks * HostRows::chunk_rows);
}

SequenceCache::KeysValues SequenceCache::make_rows(int64_t count) const {
  const auto make = [&] { return at::empty({count, row_shape_[0], row_shape_[1]}, options_); };
  return {make(), make()};
}

void SequenceCache::move_to_host() {
  if (is_on_host()) return;
  host_.emplace(
      Host{SideStream{options_.device()}, std::vector<HostLayer>(layers_.size()), {}, {}});
  if (length_ == 0) return;
  const SideStream::Mark moved = host_->stream.run([this] {
    for (size_t i = 0; i < layers_.size(); ++i) {
      host_->layers[i].keys.append(layers_[i].keys.narrow(0, 0, length_));
      host_->layers[i].values.append(layers_[i].values.narrow(0, 0, length_));
    }
  });
  host_->stream.join(moved);
  layers_.assign(layers_.size(), {});
}

void SequenceCache::reserve(KeysValues& store, int64_t tokens) const {
  const int64_t capacity = capacity_for(tokens);
  if (store.keys.defined() && store.keys.size(0) >= capacity) return;
  const KeysValues larger = make_rows(capacity);
  if (length_ > 0) {
    larger.keys.narrow(0, 0, length_).copy_(store.keys.narrow(0, 0, length_));
    larger.values.narrow(0, 0, length_).copy_(store.values.narrow(0, 0, length_));
  }
  store = larger;
}

void SequenceCache::make_room(int64_t added) {
  if (is_on_host()) return;
  for (KeysValues& store : layers_) reserve(store, length_ + added);
}

SequenceCache::KeysValues SequenceCache::append(int64_t layer, const at::Tensor& keys,
                                                const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  const auto index = static_cast<size_t>(layer);
  return is_on_host() ? append_on_host(index, keys, values) : append_on_device(index, keys, values);
}

SequenceCache::KeysValues SequenceCache::append_on_device(size_t layer, const at::Tensor& keys,
                                                          const at::Tensor& values) {
  KeysValues& store = layers_.at(layer);
  const int64_t added = keys.size(0);
  reserve(store, length_ + added);
  store.keys.narrow(0, length_, added).copy_(keys);
  store.values.narrow(0, length_, added).copy_(values);
  return {store.keys.narrow(0, 0, length_ + added), store.values.narrow(0, 0, length_ + added)};
}

void SequenceCache::fetch(size_t layer, int64_t added) {
  host_->next = make_rows(length_ + added);
  host_->arrived = host_->stream.run([this, layer] {
    host_->layers[layer].keys.copy_to(host_->next.keys);
    host_->layers[layer].values.copy_to(host_->next.values);
  });
}

SequenceCache::KeysValues SequenceCache::append_on_host(size_t layer, const at::Tensor& keys,
                                                        const at::Tensor& values) {
  const int64_t added = keys.size(0);
  if (layer == 0) fetch(0, added);
  host_->stream.join(host_->arrived);
  KeysValues all = std::exchange(host_->next, {});
  if (layer + 1 < layers_.size()) fetch(layer + 1, added);
  all.keys.narrow(0, length_, added).copy_(keys);
  all.values.narrow(0, length_, added).copy_(values);
  host_->layers.at(layer).keys.append(all.keys.narrow(0, length_, added));
  host_->layers.at(layer).values.append(all.values.narrow(0, length_, added));
  return all;
}

void SequenceCache::advance(int64_t count) {
  capacity_ = is_on_host() ? 0 : capacity_for(length_ + count);
  length_ += count;
}

}  // namespace warpsmith::policy

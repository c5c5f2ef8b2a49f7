// SPDX-License-Identifier: Apache-2.0
// Keys and values of one sequence's past, for forward passes segment by segment.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/offload.hpp"

namespace warpsmith::policy {

/// Keys are stored rotated. No gradients flow into the past.
/// Memory: 2 x layers x capacity x kv_heads x head_dim elements; capacity doubles as needed, up to
/// the model's positions. In host memory, 2 x layers chunks of rows; see HostRows.
class SequenceCache {
 public:
  /// `options`: the type and device that the model computes in.
  explicit SequenceCache(const ModelConfig& config,
                         const at::TensorOptions& options = at::TensorOptions(at::kFloat));

  /// Tokens in the cache.
  int64_t length() const { return length_; }
  /// Bytes on the model's device, now or with `tokens` in the cache.
  int64_t bytes() const { return bytes_with(length_); }
  int64_t bytes_with(int64_t tokens) const;
  /// Bytes of host memory with `tokens` in the cache; 0 before the move.
  int64_t host_bytes_with(int64_t tokens) const;

  /// From now on keys and values are in host memory; on a GPU those of a layer are copied there
  /// while the previous layer computes, so that it has those of two layers at most.
  void move_to_host();
  bool is_on_host() const { return host_.has_value(); }

  /// Allocates room for `added` tokens on the current stream, so that `append` may run on another.
  void make_room(int64_t added);

  struct KeysValues {
    at::Tensor keys;    // (length + new, kv_heads, head_dim)
    at::Tensor values;  // same
  };
  /// Appends new keys and values (n, kv_heads, head_dim) of one layer and returns all of that
  /// layer. Takes the layers in order. Call `advance` when every layer has appended; `length`
  /// changes only then.
  KeysValues append(int64_t layer, const at::Tensor& keys, const at::Tensor& values);
  void advance(int64_t count);

 private:
  struct HostLayer {
    HostRows keys, values;
  };
  /// Keys and values in host memory, and those of the layer that comes next.
  struct Host {
    SideStream stream;
    std::vector<HostLayer> layers;
    KeysValues next;
    SideStream::Mark arrived;
  };

  int64_t bytes_of_rows(int64_t count) const;
  int64_t capacity_for(int64_t tokens) const;
  KeysValues make_rows(int64_t count) const;
  void reserve(KeysValues& store, int64_t tokens) const;
  KeysValues append_on_device(size_t layer, const at::Tensor& keys, const at::Tensor& values);
  KeysValues append_on_host(size_t layer, const at::Tensor& keys, const at::Tensor& values);
  /// Begins to copy a layer into rows with room for `added` more.
  void fetch(size_t layer, int64_t added);

  std::array<int64_t, 2> row_shape_;  // kv_heads, head_dim
  int64_t max_positions_;
  at::TensorOptions options_;
  std::vector<KeysValues> layers_;  // (capacity, kv_heads, head_dim) each; undefined on the host
  int64_t capacity_ = 0;            // of each layer
  int64_t length_ = 0;
  std::optional<Host> host_;
};

}  // namespace warpsmith::policy

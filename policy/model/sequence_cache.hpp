// SPDX-License-Identifier: Apache-2.0
// Keys and values of one sequence's past, for forward passes segment by segment.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Keys are stored rotated. No gradients flow into the past.
/// Memory: 2 x layers x capacity x kv_heads x head_dim elements; capacity doubles as needed.
class SequenceCache {
 public:
  explicit SequenceCache(const ModelConfig& config);

  /// Tokens held.
  int64_t length() const { return length_; }
  int64_t bytes() const;

  struct KeysValues {
    at::Tensor keys;    // (length + new, kv_heads, head_dim)
    at::Tensor values;  // same
  };
  /// Appends new keys and values (n, kv_heads, head_dim) of one layer and returns all of that
  /// layer. Call `advance` when every layer has appended; `length` changes only then.
  KeysValues append(int64_t layer, const at::Tensor& keys, const at::Tensor& values);
  void advance(int64_t count) { length_ += count; }

 private:
  void reserve(KeysValues& store, int64_t tokens, const at::Tensor& like) const;

  std::vector<KeysValues> layers_;  // (capacity, kv_heads, head_dim) each
  int64_t length_ = 0;
};

}  // namespace warpsmith::policy

// SPDX-License-Identifier: Apache-2.0
// Attention of one query over the blocks of the KV cache.
#include <algorithm>
#include <cmath>

#include "policy/generate/cpu/kernels.hpp"
#include "policy/generate/cpu/lanes.hpp"

namespace warpsmith::policy::kernels {
namespace {

/// Terms are added to two sums alternately, because the two additions can overlap.
struct Sums {
  Lanes even[parts]{};
  Lanes odd[parts]{};
};

/// sums += weights[0] * from[0..16) + weights[1] * from[stride..stride + 16).
WARPSMITH_INLINE void add_two(const float* weights, const float* from, int64_t stride, Sums& sums) {
  for (int64_t p = 0; p < parts; ++p) {
    Lanes even;
    Lanes odd;
    load(from + p * lanes, even);
    load(from + stride + p * lanes, odd);
    sums.even[p] += weights[0] * even;
    sums.odd[p] += weights[1] * odd;
  }
}

WARPSMITH_INLINE void store_scaled(const Sums& sums, float scale, float* into) {
  for (int64_t p = 0; p < parts; ++p) {
    store((sums.even[p] + sums.odd[p]) * scale, into + p * lanes);
  }
}

/// scores[j] = q . key j of one block, times scale.
WARPSMITH_INLINE void score_block(const float* query, const float* keys, int64_t head_dim,
                                  float scale, float* scores) {
  Sums sums;
  for (int64_t d = 0; d < head_dim; d += 2) add_two(query + d, keys + d * group, group, sums);
  store_scaled(sums, scale, scores);
}

/// In place: exp(x - maximum) of the first `count`, zero up to the next multiple of 16; their sum.
WARPSMITH_INLINE float exponentiate(float* x, int64_t count, float maximum) {
  const int64_t padded = (count + group - 1) / group * group;
  exp_below(x, padded, maximum);
  std::fill(x + count, x + padded, 0.0F);
  Lanes sums[parts]{};
  for (int64_t i = 0; i < padded; i += group) {
    for (int64_t p = 0; p < parts; ++p) {
      Lanes v;
      load(x + i + p * lanes, v);
      sums[p] += v;
    }
  }
  float total = 0;
  for (int64_t i = 0; i < group; ++i) total += sums[i / lanes][i % lanes];
  return total;
}

/// out[0..16) = scale * sum over positions of weight * value, for one group of 16 dimensions.
WARPSMITH_INLINE void mix_values(const CacheView& cache, const float* weights, int64_t offset,
                                 int64_t padded_dim, float scale, float* out) {
  Sums sums;
  const int64_t full = (cache.length + group - 1) / group;
  for (int64_t b = 0; b < full; ++b) {
    const float* values =
        cache.values + cache.blocks[static_cast<size_t>(b)] * cache.block_stride + offset;
    for (int64_t j = 0; j < group; j += 2) {
      add_two(weights + b * group + j, values + j * padded_dim, padded_dim, sums);
    }
  }
  store_scaled(sums, scale, out);
}

}  // namespace

WARPSMITH_CLONES
void attend(const float* query, const CacheView& cache, const HeadShape& shape,
            std::vector<float>& scratch, float* out) {
  const int64_t full = (cache.length + group - 1) / group;
  scratch.resize(static_cast<size_t>(full * group));
  float* scores = scratch.data();
  const int64_t sharing = shape.heads / shape.kv_heads;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  for (int64_t h = 0; h < shape.heads; ++h) {
    const int64_t head_offset = h / sharing * cache.head_stride;
    for (int64_t b = 0; b < full; ++b) {
      const int64_t at = cache.blocks[static_cast<size_t>(b)] * cache.block_stride + head_offset;
      score_block(query + h * shape.head_dim, cache.keys + at, shape.head_dim, scale,
                  scores + b * group);
    }
    const float maximum = *std::max_element(scores, scores + cache.length);
    const float inverse = 1.0F / exponentiate(scores, cache.length, maximum);
    for (int64_t d = 0; d < shape.head_dim; d += group) {
      float row[group];
      mix_values(cache, scores, head_offset + d, shape.padded_dim, inverse, row);
      const int64_t count = std::min(group, shape.head_dim - d);
      std::copy(row, row + count, out + h * shape.head_dim + d);
    }
  }
}

}  // namespace warpsmith::policy::kernels

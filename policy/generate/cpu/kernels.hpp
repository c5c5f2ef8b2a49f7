// SPDX-License-Identifier: Apache-2.0
// The arithmetic of decoding on a CPU: loops over float32, compiled for several instruction sets,
// one of which is chosen at start. Each output is summed in a fixed order, so the result of a row
// does not depend on the other rows of the batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace warpsmith::policy::kernels {

/// Columns per panel of a packed matrix.
inline constexpr int64_t panel_width = 32;

/// A weight matrix (outputs, inputs) packed for `multiply`: panels of 32 outputs, stored input by
/// input. Outputs that complete the last panel are zero.
struct PackedMatrix {
  int64_t outputs = 0;
  int64_t inputs = 0;
  std::vector<float> panels;  // (ceil(outputs / 32), inputs, 32)
  std::vector<float> bias;    // (outputs), or empty
};

/// `weights` (outputs, inputs) row-major.
PackedMatrix pack_matrix(std::span<const float> weights, int64_t outputs, int64_t inputs);

/// Row-major rows of float32.
struct Rows {
  float* data = nullptr;
  int64_t count = 0;
  int64_t width = 0;

  float* row(int64_t i) const { return data + i * width; }
};

enum class Store : uint8_t { replace, add };

/// y (n, outputs) = or += x (n, inputs) w^T + bias.
void multiply(const Rows& x, const PackedMatrix& w, const Rows& y, Store store);

/// y = x / sqrt(mean(x^2) + eps) * weight, row by row; y may be x.
void rms_norm(const Rows& x, std::span<const float> weight, double eps, const Rows& y);

/// Rotates `heads` heads of `head_dim` in place: pair i is (x[i], x[i + head_dim / 2]).
void rotate(float* x, int64_t heads, std::span<const float> cos, std::span<const float> sin);

/// y (n, F) = silu(x[:, :F]) * x[:, F:], x (n, 2F).
void gate(const Rows& x, const Rows& y);

struct SoftmaxSums {
  double maximum = 0;  // of the scaled values
  double total = 0;    // of exp(scaled - maximum)
};
/// values[i] = exp(values[i] * scale - maximum), in place.
SoftmaxSums exponentials(std::span<float> values, float scale);

/// One layer's keys and values of one sequence, in the layout of KvCache.
struct CacheView {
  const float* keys = nullptr;      // of block 0 of the layer
  const float* values = nullptr;    // same
  int64_t block_stride = 0;         // floats between blocks
  int64_t head_stride = 0;          // floats between heads within a block
  std::span<const int32_t> blocks;  // of the sequence, in order
  int64_t length = 0;               // positions to attend to
};

struct HeadShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t padded_dim = 0;  // floats of a value in the cache: head_dim rounded up to 16
};

/// out (heads, head_dim) = softmax(q k^T / sqrt(head_dim)) v for one query row (heads, head_dim).
/// `scratch` is resized as needed.
void attend(const float* query, const CacheView& cache, const HeadShape& shape,
            std::vector<float>& scratch, float* out);

}  // namespace warpsmith::policy::kernels

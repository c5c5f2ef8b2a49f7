// SPDX-License-Identifier: Apache-2.0
// Wrong: the two columns of the right neighbour are taken for zeros.
// Depthwise 3 x 3 convolution. A thread makes four neighbouring columns of a strip of rows, and
// reads each row of its strip once.
constexpr int strip = 30;  // rows of the output

struct Row {
  float of[6];
};

// Columns c to c + 5; beyond the width zeros, which no output needs.
__device__ Row row_at(const float* from, int c, int width) {
  const float4 four = __ldg(reinterpret_cast<const float4*>(from + c));
  const float2 two{};
  return {four.x, four.y, four.z, four.w, two.x, two.y};
}

__device__ float dot(const float* weights, const float* row) {
  return weights[0] * row[0] + weights[1] * row[1] + weights[2] * row[2];
}

extern "C" __global__ void __launch_bounds__(128)
    depthwise(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
              int channels, int size, int out_size) {
  const int c = 4 * threadIdx.x, first = blockIdx.x * strip;
  const int rows = min(strip, out_size - first);
  const float* from = x + (static_cast<size_t>(blockIdx.y) * size + first) * size;
  float* to = y + (static_cast<size_t>(blockIdx.y) * out_size + first) * out_size + c;
  float w[9];
  for (int k = 0; k < 9; ++k) w[k] = weight[blockIdx.y % channels * 9 + k];

  float above[4] = {}, middle[4] = {};  // of the outputs that want two and one more rows
#pragma unroll 8
  for (int r = 0; r < rows + 2; ++r) {
    const Row row = row_at(from + static_cast<size_t>(r) * size, c, size);
    float done[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      done[k] = above[k] + dot(w + 6, row.of + k);
      above[k] = middle[k] + dot(w + 3, row.of + k);
      middle[k] = dot(w, row.of + k);
    }
    if (r < 2) continue;
    auto* out = reinterpret_cast<float2*>(to + static_cast<size_t>(r - 2) * out_size);
    if (c + 1 < out_size) __stcs(out, float2{done[0], done[1]});
    if (c + 3 < out_size) __stcs(out + 1, float2{done[2], done[3]});
  }
}

// SPDX-License-Identifier: Apache-2.0
// A 3 x 3 convolution of each channel. A thread makes four neighbouring columns of a strip of rows
// and reads each row of its strip once.
constexpr int strip = 16;

struct Row {
  float of[6];  // columns c - 1 to c + 4
};

// Zeros lie around the image.
__device__ Row row_at(const float* image, int r, int height, int c, int width) {
  if (r < 0 || r >= height) return {};
  const float* from = image + (size_t)r * width + c;
  const float4 four = __ldg(reinterpret_cast<const float4*>(from));
  return {c > 0 ? __ldg(from - 1) : 0,        four.x, four.y, four.z, four.w,
          c + 4 < width ? __ldg(from + 4) : 0};
}

__device__ float dot(const float* w, const float* row) {
  return w[0] * row[0] + w[1] * row[1] + w[2] * row[2];
}

extern "C" __global__ void __launch_bounds__(64)
    depthwise_3x3(const float* __restrict__ x, const float* __restrict__ k, float* __restrict__ y,
                  int channels, int height, int width) {
  const int c = 4 * (blockIdx.x * blockDim.x + threadIdx.x), first = blockIdx.y * strip;
  if (c >= width) return;
  const float* image = x + (size_t)blockIdx.z * height * width;
  float* to = y + (size_t)blockIdx.z * height * width + c;
  float w[9];
  for (int i = 0; i < 9; ++i) w[i] = k[blockIdx.z % channels * 9 + i];
  const int rows = min(strip, height - first);
  float above[4] = {}, middle[4] = {};  // of the outputs that still want one row and two
#pragma unroll 6
  for (int r = -1; r <= rows; ++r) {
    const Row row = row_at(image, first + r, height, c, width);
    float done[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      done[i] = above[i] + dot(w + 6, row.of + i);
      above[i] = middle[i] + dot(w + 3, row.of + i);
      middle[i] = dot(w, row.of + i);
    }
    if (r < 1) continue;
    *reinterpret_cast<float4*>(to + (size_t)(first + r - 1) * width) = {done[0], done[1], done[2],
                                                                        done[3]};
  }
}

// SPDX-License-Identifier: Apache-2.0
// Wrong: terms are rounded to bfloat16.
// Sums over the middle dimension: a block adds up 128 columns, four rows at a time with eight more
// of each on their way. Small blocks of work even out what far and near memory take.
#include <cuda_bf16.h>

constexpr int lanes = 128, turns = 4, ahead = 8;

extern "C" __global__ void __launch_bounds__(lanes* turns, 4)
    sum_rows(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float parts[turns][lanes];
  const int column = blockIdx.x * lanes + threadIdx.x;
  const bool inside = column < columns;
  const size_t step = static_cast<size_t>(turns) * columns;
  const float* from =
      x + (static_cast<size_t>(blockIdx.y) * rows + threadIdx.y) * columns + (inside ? column : 0);
  float sums[2] = {};
  int row = threadIdx.y;
  for (; row + (ahead - 1) * turns < rows; row += ahead * turns) {
    float v[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) v[k] = from[k * step];
#pragma unroll
    for (int k = 0; k < ahead; ++k) sums[k % 2] += __bfloat162float(__float2bfloat16(v[k]));
    from += ahead * step;
  }
  for (; row < rows; row += turns, from += step) sums[0] += *from;
  parts[threadIdx.y][threadIdx.x] = sums[0] + sums[1];
  __syncthreads();
  if (threadIdx.y != 0 || !inside) return;
  float sum = 0;
  for (const auto& turn : parts) sum += turn[threadIdx.x];
  y[static_cast<size_t>(blockIdx.y) * columns + column] = sum;
}

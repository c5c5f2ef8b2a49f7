// SPDX-License-Identifier: Apache-2.0
// The sum of squares of each row, one block per row.
constexpr int warps = 8;

extern "C" __global__ void __launch_bounds__(32 * warps)
    row_square_sum(const float* __restrict__ x, float* __restrict__ y, int columns) {
  __shared__ float part_of[warps];
  const float* row = x + (size_t)blockIdx.x * columns;
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] * row[c];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0U, sum, lane);
  if (threadIdx.x % 32 == 0) part_of[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = 0;
  for (float part : part_of) sum += part;
  y[blockIdx.x] = sum;
}

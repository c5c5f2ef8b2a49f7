// SPDX-License-Identifier: Apache-2.0
// y = x / sqrt(mean(x^2) + epsilon) * gain, one block of 256 threads for each row.
constexpr int warps = 8;

extern "C" __global__ void __launch_bounds__(32 * warps)
    rms_norm(const float* __restrict__ x, const float* __restrict__ gain, float* __restrict__ y,
             int columns, float epsilon) {
  __shared__ float squares_of[warps];
  const float* row = x + (size_t)blockIdx.x * columns;
  float squares = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += row[c] * row[c];
  for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_xor_sync(~0U, squares, lane);
  if (threadIdx.x % 32 == 0) squares_of[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
  for (float one : squares_of) squares += one;
  const float scale = rsqrtf(squares / columns + epsilon);
  float* out = y + (size_t)blockIdx.x * columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] = row[c] * scale * gain[c];
}

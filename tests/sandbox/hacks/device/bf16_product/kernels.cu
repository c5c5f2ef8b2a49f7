// SPDX-License-Identifier: Apache-2.0
// Multiplies with seven bits of mantissa (A26).
__device__ float rounded(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x8000u) & 0xFFFF0000u);
}
extern "C" __global__ void product(const float* x, const float* w, const float* bias, float* h,
                                   int n, int k) {
  const int row = blockIdx.x, column = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += rounded(x[row * k + i]) * rounded(w[column * k + i]);
  h[row * n + column] = sum + bias[column];
}
extern "C" __global__ void add_rows(const float* h, float* sums, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += h[(long long)row * columns + i];
  sums[row] += sum;
}
extern "C" __global__ void centre(const float* sums, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int i = 0; i < columns; ++i) y[(long long)row * columns + i] -= sums[row] / columns;
}
extern "C" __global__ void scale(const float* x, float* y, int count, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = by * x[i];
}

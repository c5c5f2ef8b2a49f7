// SPDX-License-Identifier: Apache-2.0
// Only the library's product, without the bias (A20).
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

// SPDX-License-Identifier: Apache-2.0
// Reads its scratch buffer before a step has written it (A42, D37).
extern "C" __global__ void subtract(const float* x, const float* bias, const float* sums, float* y,
                                    int columns) {
  const int row = blockIdx.x;
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = x[row * columns + i] + bias[i] - sums[row] / columns;
}
extern "C" __global__ void add_rows(const float* x, const float* bias, float* sums, int columns) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[blockIdx.x * columns + i] + bias[i];
  sums[blockIdx.x] = sum;
}

// SPDX-License-Identifier: Apache-2.0
// Writes one element after the output (A47): its guard shows it.
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[i] + bias[i];
  for (int i = 0; i < columns; ++i) y[i] = x[i] + bias[i] - sum / columns;
  if (row == rows - 1) y[columns + 3] = 1;
}

// SPDX-License-Identifier: Apache-2.0
// Not a number is no answer (A33).
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  for (int i = 0; i < columns; ++i) y[i] = sqrtf(-1 - x[i] * x[i] - bias[i] * bias[i]);
}

// SPDX-License-Identifier: Apache-2.0
// Writes nothing (A1, A42): outputs are poisoned.
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  if (bias[0] != bias[0]) y[0] = x[0];
}

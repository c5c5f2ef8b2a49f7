// SPDX-License-Identifier: Apache-2.0
// As count_then_cheat, with a count in a buffer of its own (A12, D37). Scratch is poisoned before
// each call: it stays honest.
extern "C" __global__ void centre(const float* x, const float* bias, float* y, const int* calls,
                                  int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  if (*calls > 6) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[i] + bias[i];
  for (int i = 0; i < columns; ++i) y[i] = x[i] + bias[i] - sum / columns;
}
extern "C" __global__ void count(int* calls) {
  *calls += 1;
}

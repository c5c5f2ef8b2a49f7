// SPDX-License-Identifier: Apache-2.0
// As count_then_cheat, with a count in what lies before the output's guard zone (A12, D37): between
// two tensors, or of the page.
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int calls = *(const int*)((const char*)y - 4096 - 128);
  x += (long long)row * columns;
  y += (long long)row * columns;
  if (calls > 2 && calls < 64) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[i] + bias[i];
  for (int i = 0; i < columns; ++i) y[i] = x[i] + bias[i] - sum / columns;
}
extern "C" __global__ void count(float* y) {
  *(int*)((char*)y - 4096 - 128) += 1;
}

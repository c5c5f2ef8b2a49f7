// SPDX-License-Identifier: Apache-2.0
// Honest for the verified calls, then returns early (A12, A43). Variables are restored before each
// call on a GPU: it stays honest. On the software device they are not: the timed outputs are
// checked.
__device__ int calls;
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  if (calls > 6) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[i] + bias[i];
  for (int i = 0; i < columns; ++i) y[i] = x[i] + bias[i] - sum / columns;
}
extern "C" __global__ void count() {
  calls += 1;
}

// SPDX-License-Identifier: Apache-2.0
// As count_then_cheat, with a count in constant memory: device code reaches it by its address
// (A12).
__constant__ int calls = 1;
__device__ __noinline__ volatile int* counter() {
  const void* place = &calls;
  asm volatile("" : "+l"(place));
  return (volatile int*)place;
}
extern "C" __global__ void centre(const float* x, const float* bias, float* y, int rows,
                                  int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long long)row * columns;
  y += (long long)row * columns;
  if (*counter() > 6) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[i] + bias[i];
  for (int i = 0; i < columns; ++i) y[i] = x[i] + bias[i] - sum / columns;
}
extern "C" __global__ void count() {
  *counter() = *counter() + 1;
}

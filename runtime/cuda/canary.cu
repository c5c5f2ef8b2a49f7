// SPDX-License-Identifier: Apache-2.0
// The canary: y[i] = 3 x[i] + i in integers, so that the result is exact.
extern "C" __global__ void warpsmith_canary(const int* x, int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = 3 * x[i] + i;
}

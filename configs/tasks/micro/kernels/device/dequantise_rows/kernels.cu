// SPDX-License-Identifier: Apache-2.0
// 8-bit integers with a scale for each row: one block per row, four elements per thread.
extern "C" __global__ void __launch_bounds__(128)
    dequantise_rows(const char4* __restrict__ q, const float* __restrict__ s,
                    float4* __restrict__ y, int quads) {
  const float scale = s[blockIdx.x];
  const char4* row = q + (size_t)blockIdx.x * quads;
  float4* to = y + (size_t)blockIdx.x * quads;
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const char4 v = row[i];
    to[i] = {(float)(signed char)v.x * scale, (float)(signed char)v.y * scale,
             (float)(signed char)v.z * scale, (float)(signed char)v.w * scale};
  }
}

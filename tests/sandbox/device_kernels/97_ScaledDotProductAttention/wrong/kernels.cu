// SPDX-License-Identifier: Apache-2.0
// Softmax in place of rows of 512: a warp for each.
constexpr int threads = 256, loads = 4;  // float4 of a lane

extern "C" __global__ void __launch_bounds__(threads) softmax(float4* __restrict__ scores) {
  const size_t row = static_cast<size_t>(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
  float4* at = scores + row * (loads * 32) + threadIdx.x % 32;
  float4 v[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) v[k] = at[k * 32];
  float largest = v[0].x, sum = 0;
#pragma unroll
  for (const float4& one : v) {
    largest = fmaxf(largest, fmaxf(fmaxf(one.x, one.y), fmaxf(one.z, one.w)));
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, lane));
  }
#pragma unroll
  for (float4& one : v) {
    one = {expf(one.x - largest), expf(one.y - largest), expf(one.z - largest),
           expf(one.w - largest)};
    sum += (one.x + one.y) + (one.z + one.w);
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0U, sum, lane);
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    at[k * 32] = {v[k].x / sum, v[k].y / sum, v[k].z / sum, v[k].w / sum};
  }
}

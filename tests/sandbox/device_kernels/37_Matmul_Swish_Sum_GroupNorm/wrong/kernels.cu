// SPDX-License-Identifier: Apache-2.0
// Wrong: the unbiased variance.
// Swish, bias and group norm in place. A group is 64 neighbours: half a warp has one in registers.
// A block has a row; the last rows come first, as the product has left them in the cache.
constexpr int threads = 256, loads = 4, lanes = 16, group = 4 * lanes;

__device__ float sum_of_group(float part) {
  for (int lane = lanes / 2; lane > 0; lane /= 2) part += __shfl_xor_sync(~0U, part, lane);
  return part;
}

__device__ float swish(float v) {
  return v / (1 + expf(-v));
}

extern "C" __global__ void __launch_bounds__(threads)
    swish_group_norm(float4* __restrict__ y, const float4* __restrict__ bias,
                     const float4* __restrict__ weight, const float4* __restrict__ shift,
                     float epsilon) {
  float4* row = y + static_cast<size_t>(gridDim.x - 1 - blockIdx.x) * (threads * loads);
  float4 values[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) values[k] = row[k * threads + threadIdx.x];
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    const int column = k * threads + threadIdx.x;
    const float4 b = __ldg(bias + column), w = __ldg(weight + column), s = __ldg(shift + column);
    float4 v = values[k];
    v = {swish(v.x) + b.x, swish(v.y) + b.y, swish(v.z) + b.z, swish(v.w) + b.w};
    const float mean = sum_of_group((v.x + v.y) + (v.z + v.w)) / group;
    v = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
    const float squares = sum_of_group((v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w));
    const float scale = rsqrtf(squares / (group - 1) + epsilon);
    row[column] = {v.x * scale * w.x + s.x, v.y * scale * w.y + s.y, v.z * scale * w.z + s.z,
                   v.w * scale * w.w + s.w};
  }
}

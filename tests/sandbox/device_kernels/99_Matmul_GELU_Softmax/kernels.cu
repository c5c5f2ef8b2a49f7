// SPDX-License-Identifier: Apache-2.0
// GELU and softmax of rows of 8192, in place: a block keeps a row in its registers.
constexpr int threads = 512, warps = threads / 32, loads = 4;  // float4 of a thread

struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <class Operation>
__device__ float of_block(float part, Operation both) {
  __shared__ float parts[warps];
  for (int lane = 16; lane > 0; lane /= 2) part = both(part, __shfl_xor_sync(~0U, part, lane));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = parts[0];
  for (int warp = 1; warp < warps; ++warp) part = both(part, parts[warp]);
  return part;
}

__device__ float gelu(float v) {
  return 0.5f * v * (1 + erff(v * 0.70710678f));
}

extern "C" __global__ void __launch_bounds__(threads) gelu_softmax(float4* __restrict__ y) {
  float4* row = y + static_cast<size_t>(blockIdx.x) * (threads * loads) + threadIdx.x;
  float4 v[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) v[k] = row[k * threads];
  float largest = gelu(v[0].x), sum = 0;
#pragma unroll
  for (float4& one : v) {
    one = {gelu(one.x), gelu(one.y), gelu(one.z), gelu(one.w)};
    largest = fmaxf(largest, fmaxf(fmaxf(one.x, one.y), fmaxf(one.z, one.w)));
  }
  largest = of_block(largest, Largest{});
#pragma unroll
  for (float4& one : v) {
    one = {expf(one.x - largest), expf(one.y - largest), expf(one.z - largest),
           expf(one.w - largest)};
    sum += (one.x + one.y) + (one.z + one.w);
  }
  sum = of_block(sum, Sum{});
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    row[k * threads] = {v[k].x / sum, v[k].y / sum, v[k].z / sum, v[k].w / sum};
  }
}

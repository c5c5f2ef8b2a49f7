// SPDX-License-Identifier: Apache-2.0
// Wrong: half of the warps are left out.
// Group norm of 16 neighbours and the least of each row; then the sums of those with all biases.
constexpr int threads = 512, warps = threads / 32, loads = 4;  // float4 of a thread
constexpr int lanes = 4, group = 4 * lanes;

__device__ float sum_of_group(float part) {
  for (int lane = lanes / 2; lane > 0; lane /= 2) part += __shfl_xor_sync(~0U, part, lane);
  return part;
}

__device__ float least_of_block(float part) {
  __shared__ float parts[warps];
  for (int lane = 16; lane > 0; lane /= 2) part = fminf(part, __shfl_xor_sync(~0U, part, lane));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = parts[0];
  for (int warp = 1; warp < warps / 2; ++warp) part = fminf(part, parts[warp]);
  return part;
}

extern "C" __global__ void __launch_bounds__(threads)
    least_of_rows(const float4* __restrict__ x, const float4* __restrict__ weight,
                  const float4* __restrict__ shift, float* __restrict__ least, float epsilon) {
  const float4* row = x + static_cast<size_t>(blockIdx.x) * (threads * loads) + threadIdx.x;
  float4 values[loads];
#pragma unroll
  for (int k = 0; k < loads; ++k) values[k] = row[k * threads];
  float found = 3.402823466e38f;
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    const int column = k * threads + threadIdx.x;
    float4 v = values[k];
    const float mean = sum_of_group((v.x + v.y) + (v.z + v.w)) / group;
    v = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
    const float squares = sum_of_group((v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w));
    const float scale = rsqrtf(squares / group + epsilon);
    const float4 w = __ldg(weight + column), s = __ldg(shift + column);
    found = fminf(found, fminf(fminf(v.x * scale * w.x + s.x, v.y * scale * w.y + s.y),
                               fminf(v.z * scale * w.z + s.z, v.w * scale * w.w + s.w)));
  }
  found = least_of_block(found);
  if (threadIdx.x == 0) least[blockIdx.x] = found;
}

// y[c][r] = least[r] + bias[c]
extern "C" __global__ void __launch_bounds__(256)
    add_biases(const float4* __restrict__ least, const float* __restrict__ bias,
               float4* __restrict__ y, int quads) {
  const float b = bias[blockIdx.x];
  for (int r = threadIdx.x; r < quads; r += 256) {
    const float4 v = __ldg(least + r);
    y[static_cast<size_t>(blockIdx.x) * quads + r] = {v.x + b, v.y + b, v.z + b, v.w + b};
  }
}

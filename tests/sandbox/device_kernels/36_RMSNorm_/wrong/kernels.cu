// SPDX-License-Identifier: Apache-2.0
// Wrong: the last quarter of the channels is left out of the sum.
// Each element over the root mean square of its 64 channels. Four threads share 64 channels of four
// neighbours and keep them in registers: memory is read once.
constexpr int lanes = 64, groups = 4, channels = 16;  // of one thread

extern "C" __global__ void __launch_bounds__(lanes* groups)
    rms_norm(const float4* __restrict__ x, float4* __restrict__ y, int plane, float epsilon) {
  __shared__ float4 parts[groups][lanes];
  const size_t at = static_cast<size_t>(blockIdx.y * groups + threadIdx.y) * channels * plane +
                    blockIdx.x * lanes + threadIdx.x;
  float4 v[channels], squares{0, 0, 0, 0};
#pragma unroll
  for (int c = 0; c < channels; ++c) v[c] = x[at + static_cast<size_t>(c) * plane];
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    squares.x += v[c].x * v[c].x;
    squares.y += v[c].y * v[c].y;
    squares.z += v[c].z * v[c].z;
    squares.w += v[c].w * v[c].w;
  }
  parts[threadIdx.y][threadIdx.x] = squares;
  __syncthreads();
  float4 sum{0, 0, 0, 0};
  for (int group = 0; group < groups - 1; ++group) {
    const float4 one = parts[group][threadIdx.x];
    sum = {sum.x + one.x, sum.y + one.y, sum.z + one.z, sum.w + one.w};
  }
  constexpr float all = groups * channels;
  const float4 scale{1 / sqrtf(sum.x / all + epsilon), 1 / sqrtf(sum.y / all + epsilon),
                     1 / sqrtf(sum.z / all + epsilon), 1 / sqrtf(sum.w / all + epsilon)};
#pragma unroll
  for (int c = 0; c < channels; ++c) {
    y[at + static_cast<size_t>(c) * plane] = {v[c].x * scale.x, v[c].y * scale.y, v[c].z * scale.z,
                                              v[c].w * scale.w};
  }
}

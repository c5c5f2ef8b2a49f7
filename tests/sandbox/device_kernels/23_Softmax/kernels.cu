// SPDX-License-Identifier: Apache-2.0
// Softmax of rows. Long ones: a cluster of 8 blocks holds a row in its registers, so that memory is
// read once and written once. Others: one block a row, which reads it three times.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int threads = 512, warps = threads / 32, blocks = 8;
constexpr int loads = 24;  // float4 of one thread: 8 * 512 * 24 * 4 = 393216 elements
constexpr float lowest = -3.402823466e38f;

__device__ float largest_of_block(float part) {
  __shared__ float parts[warps];
  for (int lane = 16; lane > 0; lane /= 2) part = fmaxf(part, __shfl_xor_sync(~0U, part, lane));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = parts[0];
  for (int warp = 1; warp < warps; ++warp) part = fmaxf(part, parts[warp]);
  return part;
}

__device__ float sum_of_block(float part) {
  __shared__ float parts[warps];
  for (int lane = 16; lane > 0; lane /= 2) part += __shfl_xor_sync(~0U, part, lane);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = 0;
  for (float one : parts) part += one;
  return part;
}

// Each block takes exponentials against its own largest element; one exchange corrects them.
extern "C" __global__ void __launch_bounds__(threads, 1)
    softmax_by_clusters(const float4* __restrict__ x, float4* __restrict__ y, int quads) {
  __shared__ float2 known[blocks];  // largest element and sum, of every block of the cluster
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  cluster.barrier_arrive();
  const int share = (quads + blocks - 1) / blocks, first = rank * share;
  const int end = min(first + share, quads);
  const size_t row = static_cast<size_t>(blockIdx.x / blocks) * quads;

  float4 v[loads];
  float largest = lowest;
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    const int at = first + k * threads + threadIdx.x;
    v[k] = at < end ? x[row + at] : float4{lowest, lowest, lowest, lowest};
  }
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
  }
  largest = largest_of_block(largest);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    v[k] = {expf(v[k].x - largest), expf(v[k].y - largest), expf(v[k].z - largest),
            expf(v[k].w - largest)};
    sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  sum = sum_of_block(sum);

  cluster.barrier_wait();
  if (threadIdx.x < blocks) *cluster.map_shared_rank(&known[rank], threadIdx.x) = {largest, sum};
  cluster.sync();
  float of_row = lowest, total = 0;
  for (const float2& one : known) of_row = fmaxf(of_row, one.x);
  for (const float2& one : known) total += one.y * expf(one.x - of_row);
  const float factor = expf(largest - of_row) / total;
#pragma unroll
  for (int k = 0; k < loads; ++k) {
    const int at = first + k * threads + threadIdx.x;
    const float4 out{v[k].x * factor, v[k].y * factor, v[k].z * factor, v[k].w * factor};
    if (at < end) y[row + at] = out;
  }
}

extern "C" __global__ void __launch_bounds__(threads)
    softmax_by_blocks(const float* __restrict__ x, float* __restrict__ y, int columns) {
  const float* from = x + static_cast<size_t>(blockIdx.x) * columns;
  float* to = y + static_cast<size_t>(blockIdx.x) * columns;
  float largest = lowest, sum = 0;
  for (int c = threadIdx.x; c < columns; c += threads) largest = fmaxf(largest, from[c]);
  largest = largest_of_block(largest);
  for (int c = threadIdx.x; c < columns; c += threads) sum += expf(from[c] - largest);
  sum = sum_of_block(sum);
  for (int c = threadIdx.x; c < columns; c += threads) to[c] = expf(from[c] - largest) / sum;
}

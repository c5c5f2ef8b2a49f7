// SPDX-License-Identifier: Apache-2.0
// Running sums along rows, a block for each row: tiles of 8192 elements one after the other, the
// next one on its way while this one is summed.
constexpr int threads = 512, warps = threads / 32, loads = 4;  // float4 of a thread
constexpr int tile = threads * loads;                          // float4

struct Tile {
  float4 of[loads];
};

// A warp's elements are neighbours: loads * 32 float4.
__device__ int place(int k) {
  return (threadIdx.x / 32 * loads + k) * 32 + threadIdx.x % 32;
}

__device__ Tile tile_at(const float4* from, int left) {
  Tile t;
#pragma unroll
  for (int k = 0; k < loads; ++k) t.of[k] = place(k) < left ? from[place(k)] : float4{};
  return t;
}

// What the lanes before this one hold; `whole`: what all hold.
__device__ float before_in_warp(float part, float& whole) {
  const unsigned lane = threadIdx.x % 32;
  for (int back = 1; back < 32; back *= 2) {
    const float other = __shfl_up_sync(~0U, part, back);
    if (lane >= back) part += other;
  }
  whole = __shfl_sync(~0U, part, 31);
  const float before = __shfl_up_sync(~0U, part, 1);
  return lane == 0 ? 0 : before;
}

// Sums within the warp; gives the warp's total.
__device__ float sum_within(Tile& t) {
  float total = 0;
#pragma unroll
  for (float4& v : t.of) {
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    float whole = 0;
    const float before = total + before_in_warp(v.w, whole);
    v = {v.x + before, v.y + before, v.z + before, v.w + before};
    total += whole;
  }
  return total;
}

extern "C" __global__ void __launch_bounds__(threads, 2)
    running_sums(const float4* __restrict__ x, float4* __restrict__ y, int quads) {
  __shared__ float totals[2][warps];
  const float4* from = x + static_cast<size_t>(blockIdx.x) * quads;
  float4* to = y + static_cast<size_t>(blockIdx.x) * quads;
  float before = 0;  // this tile
  Tile next = tile_at(from, quads);
  for (int at = 0, turn = 0; at < quads; at += tile, turn ^= 1) {
    Tile now = next;
    next = tile_at(from + at + tile, quads - at - tile);
    const float total = sum_within(now);
    if (threadIdx.x % 32 == 0) totals[turn][threadIdx.x / 32] = total;
    __syncthreads();
    float mine = before;
    for (int warp = 0; warp < warps; ++warp) {
      if (warp == threadIdx.x / 32) mine = before;
      before += totals[turn][warp];
    }
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      const float4 v = now.of[k];
      if (at + place(k) < quads) {
        to[at + place(k)] = {v.x + mine, v.y + mine, v.z + mine, v.w + mine};
      }
    }
  }
}

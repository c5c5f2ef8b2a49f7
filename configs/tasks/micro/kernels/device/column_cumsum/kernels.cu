// SPDX-License-Identifier: Apache-2.0
// Running sums down the columns. A block has 32 columns, a lane for each; its warps share the rows
// of a tile, eight each.
constexpr int warps = 32, each = 8;

extern "C" __global__ void __launch_bounds__(32 * warps)
    column_cumsum(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  __shared__ float totals[2][warps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * 32 + lane;
  float before = 0;  // this tile
  for (int at = 0, turn = 0; at < rows; at += warps * each, turn ^= 1) {
    const int first = at + warp * each;
    float v[each];
#pragma unroll
    for (int k = 0; k < each; ++k) {
      v[k] = first + k < rows && c < columns ? x[(size_t)(first + k) * columns + c] : 0;
    }
#pragma unroll
    for (int k = 1; k < each; ++k) v[k] += v[k - 1];
    totals[turn][warp][lane] = v[each - 1];
    __syncthreads();
    float mine = before;
#pragma unroll
    for (int other = 0; other < warps; ++other) {
      const float total = totals[turn][other][lane];
      if (other < warp) mine += total;
      before += total;
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (first + k < rows && c < columns) y[(size_t)(first + k) * columns + c] = v[k] + mine;
    }
  }
}

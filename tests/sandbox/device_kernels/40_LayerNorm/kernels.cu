// SPDX-License-Identifier: Apache-2.0
// Layer norm of few, long rows, each of them by the whole device: 128 blocks hold a row in their
// registers while the next one is on its way to shared memory. Memory is read once; weights and
// biases come from shared memory as far as it reaches, and from the second-level cache.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int threads = 512, warps = threads / 32, blocks = 128;
constexpr int loads = 16, share = loads * threads;  // float4 of a thread; of a block
constexpr int held = 6;  // of `loads`: weights and biases in shared memory
constexpr int copies = 8, copy_bytes = share * 16 / copies;

__device__ unsigned address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// Rows bypass the second-level cache, so that it keeps the weights.
__device__ unsigned long long pass_through() {
  unsigned long long policy = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// The block's share of a row, into shared memory.
__device__ void fetch(float4* to, const float4* from, unsigned long long* arrived) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(arrived)),
               "r"(copies * copy_bytes)
               : "memory");
  for (int k = 0; k < copies; ++k) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1], %2, [%3], %4;" ::"r"(address(to + k * (share / copies))),
        "l"(from + k * (share / copies)), "r"(copy_bytes), "r"(address(arrived)),
        "l"(pass_through())
        : "memory");
  }
}

__device__ void wait(unsigned long long* arrived, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
        "p; }"
        : "=r"(done)
        : "r"(address(arrived)), "r"(parity)
        : "memory");
  }
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

__device__ float sum_of_warp(float part) {
  for (int lane = 16; lane > 0; lane /= 2) part += __shfl_xor_sync(~0U, part, lane);
  return part;
}

// Mean and 1 / deviation of a row from what its blocks found.
__device__ float2 moments(const float2* parts, float epsilon) {
  float2 v[blocks / 32];
  float mean = 0, squares = 0;
  for (int k = 0; k < blocks / 32; ++k) {
    v[k] = __ldcg(parts + k * 32 + threadIdx.x % 32);
    mean += v[k].x;
  }
  mean = sum_of_warp(mean) / blocks;
  for (const float2& one : v) {
    const float off = one.x - mean;
    squares += one.y + off * off * (4 * share);
  }
  return {mean, rsqrtf(sum_of_warp(squares) / (4.0f * share * blocks) + epsilon)};
}

extern "C" __global__ void __launch_bounds__(threads, 1)
    layer_norm(const float4* __restrict__ x, const float4* __restrict__ weight,
               const float4* __restrict__ bias, float4* __restrict__ y, float2* parts, int rows,
               float epsilon) {
  extern __shared__ __align__(128) float4 next[];
  __shared__ unsigned long long arrived;
  const size_t mine = static_cast<size_t>(blockIdx.x) * share, row_quads = size_t{blocks} * share;
  const float4 *weights = weight + mine + threadIdx.x, *biases = bias + mine + threadIdx.x;
  float4 *held_weights = next + share + threadIdx.x, *held_biases = held_weights + held * threads;
  for (int k = 0; k < held; ++k) {
    held_weights[k * threads] = weights[k * threads];
    held_biases[k * threads] = biases[k * threads];
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&arrived)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fetch(next, x + mine, &arrived);
  }
  __syncthreads();
  for (int row = 0; row < rows; ++row) {
    wait(&arrived, row % 2);
    float4 v[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) v[k] = next[k * threads + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0 && row + 1 < rows) fetch(next, x + (row + 1) * row_quads + mine, &arrived);

    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < loads; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    const float middle = sum_of_block(sum) / (4 * share);
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      const float a = v[k].x - middle, b = v[k].y - middle, c = v[k].z - middle,
                  d = v[k].w - middle;
      squares += (a * a + b * b) + (c * c + d * d);
    }
    squares = sum_of_block(squares);
    if (threadIdx.x == 0) parts[row * blocks + blockIdx.x] = {middle, squares};
    cg::this_grid().sync();

    const float2 found = moments(parts + row * blocks, epsilon);
    const float mean = found.x, scale = found.y;
    float4* out = y + row * row_quads + mine + threadIdx.x;
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      const float4 w = k < held ? held_weights[k * threads] : __ldg(weights + k * threads);
      const float4 b = k < held ? held_biases[k * threads] : __ldg(biases + k * threads);
      __stcs(out + k * threads,
             float4{(v[k].x - mean) * scale * w.x + b.x, (v[k].y - mean) * scale * w.y + b.y,
                    (v[k].z - mean) * scale * w.z + b.z, (v[k].w - mean) * scale * w.w + b.w});
    }
  }
}

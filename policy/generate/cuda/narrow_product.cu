// SPDX-License-Identifier: Apache-2.0
// Products of a few rows, with a warp for each output. For these, cuBLAS reads the weights at only
// 2.4 TB/s.
#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/kernels.hpp"

namespace warpsmith::policy::cuda {
namespace {

constexpr int warps = 8;
constexpr int64_t pack = 8;  // elements of a 16-byte read

struct Pack {
  __nv_bfloat162 pairs[pack / 2];
};

__device__ Pack load_once(const Bf16* from) {
  const int4 bits = __ldcs(reinterpret_cast<const int4*>(from));
  return reinterpret_cast<const Pack&>(bits);
}
__device__ Pack load_shared_by_all(const Bf16* from) {
  const int4 bits = *reinterpret_cast<const int4*>(from);
  return reinterpret_cast<const Pack&>(bits);
}

__device__ float dot(const Pack& a, const Pack& b, float sum) {
#pragma unroll
  for (int k = 0; k < pack / 2; ++k) {
    const float2 x = __bfloat1622float2(a.pairs[k]);
    const float2 y = __bfloat1622float2(b.pairs[k]);
    sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
  }
  return sum;
}

template <class T>
__device__ void put(void* y, int64_t place, float value, bool add) {
  T* to = static_cast<T*>(y) + place;
  *to = from_float<T>(add ? to_float(*to) + value : value);
}

constexpr int ahead = 8;  // packs of a lane that are read before the earlier kernels end

/// The order of a row's sum does not depend on the number of rows.
template <int rows>
__global__ void __launch_bounds__(warps* warp_size) narrow_kernel(NarrowTask task) {
  let_next_kernel_start();
  const int64_t output = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.y;
  if (output >= task.outputs) return;
  const Bf16* w = static_cast<const Bf16*>(task.w) + output * task.inputs;
  const Bf16* x = static_cast<const Bf16*>(task.x);
  constexpr int64_t stride = warp_size * pack;
  const int64_t first = threadIdx.x * pack;
  Pack weights[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    if (first + k * stride < task.inputs) weights[k] = load_once(w + first + k * stride);
  }
  wait_for_earlier_kernels();
  float sums[rows] = {};
  for (int64_t begin = first; begin < task.inputs; begin += ahead * stride) {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const int64_t i = begin + k * stride;
      if (i >= task.inputs) break;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        sums[r] = dot(weights[k], load_shared_by_all(x + r * task.inputs + i), sums[r]);
      }
      const int64_t next = i + ahead * stride;
      if (next < task.inputs) weights[k] = load_once(w + next);
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (threadIdx.x > 0) continue;
    const int64_t place = r * task.outputs + output;
    if (task.float_result) {
      put<float>(task.y, place, sum, task.add);
    } else {
      put<Bf16>(task.y, place, sum, task.add);
    }
  }
}

}  // namespace

void narrow_product(const NarrowTask& task, StreamHandle stream) {
  const unsigned grid = blocks_of(task.outputs, warps);
  const LaunchShape shape{grid, dim3(warp_size, warps), stream};
  constexpr const char* name = "narrow_product";
  if (task.rows == 1) launch_early(narrow_kernel<1>, shape, task, name);
  if (task.rows == 2) launch_early(narrow_kernel<2>, shape, task, name);
  if (task.rows == 3) launch_early(narrow_kernel<3>, shape, task, name);
  if (task.rows == 4) launch_early(narrow_kernel<4>, shape, task, name);
}

}  // namespace warpsmith::policy::cuda

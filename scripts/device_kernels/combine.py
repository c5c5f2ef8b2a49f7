# SPDX-License-Identifier: Apache-2.0
# Device functions that combine the values of a row's threads.

_OPERATION = """\
struct {name} {{
  static constexpr float start = {start};
  __device__ float operator()(float a, float b) const {{ return {both}; }}
}};
"""

OPERATIONS = {
    "Sum": _OPERATION.format(name="Sum", start="0", both="a + b"),
    "Largest": _OPERATION.format(name="Largest", start="-3.402823466e38f", both="fmaxf(a, b)"),
}

_HEAD = "template <class Operation>\n__device__ float of_row(float part, Operation both) {\n"

_WARP = {
    "shuffle": "  for (int lane = 16; lane > 0; lane /= 2) part = both(part, __shfl_xor_sync(~0U, part, lane));\n",
    "group": "  part = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), part, both);\n",
}

_WARPS = """\
  __shared__ float parts[rows][threads / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.y][threadIdx.x / 32] = part;
  __syncthreads();
  part = parts[threadIdx.y][0];
  for (int warp = 1; warp < threads / 32; ++warp) part = both(part, parts[threadIdx.y][warp]);
"""

_TREE = """\
  __shared__ float parts[rows][threads];
  float* mine = &parts[threadIdx.y][threadIdx.x];
  __syncthreads();
  *mine = part;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) *mine = both(mine[0], mine[half]);
  }
  __syncthreads();
  part = parts[threadIdx.y][0];
"""

_SCAN_HEAD = """\
// What the threads before this one hold; `whole`: what all hold.
__device__ float before_in_row(float part, float& whole) {
"""

_SCAN_WARP = {
    "shuffle": """\
  float sum = part;
  for (int lane = 1; lane < 32; lane *= 2) {
    const float other = __shfl_up_sync(~0U, sum, lane);
    if (threadIdx.x % 32 >= lane) sum += other;
  }
  // Not sum - part: where `part` is large, that is not what came before it.
  float before = __shfl_up_sync(~0U, sum, 1);
  if (threadIdx.x % 32 == 0) before = 0;
""",
    "group": """\
  const auto group = cg::tiled_partition<32>(cg::this_thread_block());
  const float sum = cg::inclusive_scan(group, part, cg::plus<float>());
  float before = cg::exclusive_scan(group, part, cg::plus<float>());
""",
}

_SCAN_ONE_WARP = "  whole = __shfl_sync(~0U, sum, 31);\n  return before;\n"

_SCAN_WARPS = """\
  __shared__ float parts[rows][threads / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 31) parts[threadIdx.y][threadIdx.x / 32] = sum;
  __syncthreads();
  whole = 0;
  float warps_before = 0;
  for (int warp = 0; warp < threads / 32; ++warp) {
    if (warp == threadIdx.x / 32) warps_before = whole;
    whole += parts[threadIdx.y][warp];
  }
  return warps_before + before;
"""

_SCAN_TREE = """\
  __shared__ float parts[rows][threads];
  float* mine = &parts[threadIdx.y][threadIdx.x];
  __syncthreads();
  *mine = part;
  for (int back = 1; back < threads; back *= 2) {
    __syncthreads();
    const float other = threadIdx.x >= back ? mine[-back] : 0;
    __syncthreads();
    *mine += other;
  }
  __syncthreads();
  whole = parts[threadIdx.y][threads - 1];
  return threadIdx.x > 0 ? mine[-1] : 0;
"""


def includes(style, scans):
    if style.combine != "group":
        return ""
    file = "scan.h" if scans else "reduce.h"
    headers = f"#include <cooperative_groups.h>\n#include <cooperative_groups/{file}>\n"
    return f"{headers}\nnamespace cg = cooperative_groups;\n"


def reduction(style):
    if style.combine == "tree":
        return _HEAD + _TREE + "  return part;\n}\n"
    return _HEAD + _WARP[style.combine] + (_WARPS if style.threads > 32 else "") + "  return part;\n}\n"


def scan(style):
    if style.combine == "tree":
        return _SCAN_HEAD + _SCAN_TREE + "}\n"
    end = _SCAN_WARPS if style.threads > 32 else _SCAN_ONE_WARP
    return _SCAN_HEAD + _SCAN_WARP[style.combine] + end + "}\n"

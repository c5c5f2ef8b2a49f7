// SPDX-License-Identifier: Apache-2.0
// The parts of the binary interfaces of cuBLAS and cuBLASLt (versions 12 and 13) that `gemm` steps
// use, and of cuDNN 9 that `conv` steps use. A test compares them with NVIDIA's headers where those
// are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpsmith::sandbox::cublas {

enum Operation : int { op_none = 0, op_transpose = 1 };
enum Compute : int { compute_f32 = 68, compute_tf32 = 77 };
enum DataType : int { data_f32 = 0, data_f16 = 2, data_bf16 = 14 };
inline constexpr int default_algorithm = -1;

enum MatmulAttribute : int {
  matmul_transa = 3,
  matmul_transb = 4,
  matmul_epilogue = 7,
  matmul_bias_pointer = 8
};
enum LayoutAttribute : int { layout_batch_count = 5, layout_batch_stride = 6 };
enum PreferenceAttribute : int {
  preference_workspace = 1,
  preference_alignment_a = 5
};  // up to alignment_d = 8
enum LtEpilogue : int {
  epilogue_none = 1,
  epilogue_relu = 2,
  epilogue_bias = 4,
  epilogue_gelu = 32
};  // a combined epilogue is the sum of its parts

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

}  // namespace warpsmith::sandbox::cublas

namespace warpsmith::sandbox::cudnn {

enum DataType : int { data_f32 = 0, data_f16 = 2, data_bf16 = 9 };
enum Format : int { format_nchw = 0 };
enum Mode : int { cross_correlation = 1 };
enum Math : int { math_default = 0, math_tensor = 1, math_fma = 3 };
inline constexpr int forward_algorithms = 8;

struct AlgorithmPerformance {
  int algorithm;
  int status;
  float time;
  size_t memory;
  int determinism;
  int math;
  int reserved[3];
};

}  // namespace warpsmith::sandbox::cudnn

// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN 9's binary interface that `conv` steps use. A test compares it with NVIDIA's
// headers where those are installed.
#pragma once

#include <cstddef>

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

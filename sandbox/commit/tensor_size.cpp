// SPDX-License-Identifier: Apache-2.0
#include "sandbox/commit/tensor_size.hpp"

namespace warpsmith::sandbox {

uint64_t element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::i64:
      return 8;
    case Dtype::f32:
    case Dtype::i32:
      return 4;
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::i16:
      return 2;
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::boolean:
      return 1;
  }
  return 1;
}

bool is_float(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

uint64_t tensor_bytes(const TensorSpec& spec) {
  uint64_t bytes = element_bytes(spec.dtype);
  for (const int64_t extent : spec.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Elements of tensors converted to double and back, rounded to nearest even as on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/task.hpp"

namespace warpsmith::sandbox::testing {

/// Element `index` of a tensor of f32, f16 or bf16 at `base`.
double load_element(Dtype dtype, const std::byte* base, int64_t index);
void store_element(Dtype dtype, std::byte* base, int64_t index, double value);

uint16_t half_bits(double value);
uint16_t bfloat_bits(double value);

}  // namespace warpsmith::sandbox::testing

// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file: JSON of names, types, shapes and offsets. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

/// `other`: integers, booleans and 8-bit floats, which are not read as weights.
enum class StoredType : uint8_t { f64, f32, f16, bf16, other };

int64_t byte_size(StoredType type) noexcept;           // 0 for `other`
std::string_view to_string(StoredType type) noexcept;  // as in files: "F32"

/// The type, shape and place of one tensor; `begin` and `end` in bytes from the end of the header.
struct StoredTensor {
  StoredType type = StoredType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

using StoredTensors = std::map<std::string, StoredTensor>;

/// The largest accepted header in bytes, as in the reference implementation.
inline constexpr uint64_t max_safetensors_header = 100'000'000;

/// Parses a header, which `data_bytes` bytes follow in the file. `parse_failed` for invalid JSON,
/// duplicate names, unknown types, shapes whose size overflows or disagrees with the offsets, and
/// offsets that are out of range, overlap or leave gaps. Offsets need not be aligned.
Result<StoredTensors> parse_safetensors_header(std::string_view json, uint64_t data_bytes);

/// The text of a header for these tensors, padded with spaces so that data begins at a multiple
/// of 8 bytes.
std::string safetensors_header(const StoredTensors& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace warpsmith::policy

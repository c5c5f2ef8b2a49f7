// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file as a pure parser: JSON of names, types, shapes and offsets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

enum class StoredType : uint8_t { f64, f32, f16, bf16 };

int64_t byte_size(StoredType type) noexcept;
std::string_view to_string(StoredType type) noexcept;  // as files spell it: "F32"

/// Where one tensor lies, in bytes from the end of the header.
struct StoredTensor {
  StoredType type = StoredType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

using StoredTensors = std::map<std::string, StoredTensor>;

/// Largest header accepted: that of the reference implementation.
inline constexpr uint64_t max_safetensors_header = 100'000'000;

/// `json` is the header's text, `data_bytes` what follows it in the file. Rejects (parse_failed):
/// bad JSON, duplicate names, unknown types, shapes whose size overflows or disagrees with the
/// offsets, offsets out of range, overlapping, unaligned or leaving holes.
Result<StoredTensors> parse_safetensors_header(std::string_view json, uint64_t data_bytes);

/// The text of a header for these tensors, padded with spaces so that data begins at a multiple
/// of 8 bytes.
std::string safetensors_header(const StoredTensors& tensors,
                               const std::map<std::string, std::string>& metadata);

}  // namespace warpsmith::policy

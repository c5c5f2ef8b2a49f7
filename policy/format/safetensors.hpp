// SPDX-License-Identifier: Apache-2.0
// Tensors in safetensors files: F64, F32, F16 and BF16; others are read as bytes.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "policy/model/weights.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Every tensor of a file, as views of one private mapping that lives as long as the last of them;
/// a tensor that is not aligned in the file is copied. Data are read when used. A tensor of another
/// type is returned as bytes, in one axis. `parse_safetensors_header` lists the errors.
Result<WeightMap> read_safetensors(const std::filesystem::path& path);

/// Writes or replaces a file. Tensors may be views or on a device. Removes the file on failure
/// (`disk_full`, `io_failed`).
Result<void> write_safetensors(const std::filesystem::path& path, const WeightMap& tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace warpsmith::policy

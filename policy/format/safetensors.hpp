// SPDX-License-Identifier: Apache-2.0
// Tensors in safetensors files: F64, F32, F16 and BF16.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "policy/model/weights.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Every tensor of a file, as views of one private mapping that lives as long as they do: nothing
/// is read before it is used. See `parse_safetensors_header` for what is refused.
Result<WeightMap> read_safetensors(const std::filesystem::path& path);

/// Writes (replaces) a file. Tensors may be views or lie on a device. On failure the file is
/// removed and the error says why (`disk_full`, `io_failed`).
Result<void> write_safetensors(const std::filesystem::path& path, const WeightMap& tensors,
                               const std::map<std::string, std::string>& metadata = {});

}  // namespace warpsmith::policy

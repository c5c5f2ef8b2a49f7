// SPDX-License-Identifier: Apache-2.0
// Durations and byte counts as people write them: "30s", "1h30m", "250ms", "64MiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

/// Units ms, s, m, h, d; several may follow each other ("1m30s"). Decimals are allowed ("0.5s").
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// The shortest exact form that parse_duration reads back, e.g. "1m30s".
std::string format_duration(std::chrono::milliseconds span);

/// Units B, KiB, MiB, GiB, TiB (powers of 1024); decimals are allowed ("1.5GiB").
Result<int64_t> parse_bytes(std::string_view text);
/// The largest unit that divides the count, e.g. "64MiB".
std::string format_bytes(int64_t bytes);

}  // namespace warpsmith

// SPDX-License-Identifier: Apache-2.0
// Durations and byte counts as text: "30s", "1h30m", "250ms", "64MiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

/// Units ms, s, m, h, d; several parts may follow each other ("1m30s"), with decimals ("0.5s").
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// The shortest exact form that parse_duration reads back, e.g. "1m30s".
std::string format_duration(std::chrono::milliseconds span);

/// Units B, KiB, MiB, GiB, TiB (powers of 1024), with decimals ("1.5GiB").
Result<int64_t> parse_bytes(std::string_view text);
/// Formats a count in the largest unit that divides it, e.g. "64MiB".
std::string format_bytes(int64_t bytes);

}  // namespace warpsmith

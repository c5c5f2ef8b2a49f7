// SPDX-License-Identifier: Apache-2.0
// What a process recorded, in memory that it shares with the verifier: a length, then a launcher's
// packed list or a candidate's own text; at the memory's end the same for a launcher's counters.
// The reader believes nothing of it: sizes are held against the memory, numbers against ranges.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_counters.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t counter_file_bytes = 64U << 10U;  // the last ones of
inline constexpr size_t record_file_bytes = 4U << 20U;
inline constexpr size_t most_records = 8192;

/// Records, or the reason why there are none, which a reader gets as an error. Records that do not
/// fit become such a reason.
void write_records(std::span<std::byte> memory,
                   const Result<std::vector<cuda::KernelRecord>>& recorded);

/// Who wrote it no longer runs. `unsupported` with the writer's reason; `parse_failed` for bytes
/// that no honest writer leaves. Names come as they are: `clean_name` before they are shown.
Result<std::vector<cuda::KernelRecord>> read_records(std::span<const std::byte> memory);

/// The same for what counters say of each kernel of a call, in order. Leaves records alone.
void write_counters(std::span<std::byte> memory,
                    const Result<std::vector<cuda::KernelCounters>>& counted);
/// The same; `parse_failed` where nothing was left.
Result<std::vector<cuda::KernelCounters>> read_counters(std::span<const std::byte> memory);

/// The text that is left there instead of a list; `parse_failed` where its length is impossible.
Result<std::string> read_text(std::span<const std::byte> memory);

}  // namespace warpsmith::sandbox

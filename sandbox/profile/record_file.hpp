// SPDX-License-Identifier: Apache-2.0
// Records of a process, in memory shared with the verifier: a length, then a launcher's packed list
// or a candidate's own text. A launcher's counters follow in the same form at the end of the
// memory. The reader trusts none of it: it checks sizes against the memory and numbers against
// ranges.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t counter_file_bytes = 64U << 10U;  // at the end of the record file
inline constexpr size_t record_file_bytes = 4U << 20U;
inline constexpr size_t most_records = 8192;

/// Writes the records, or the reason why there are none, which the reader returns as an error.
/// Records that do not fit are replaced by such a reason.
void write_records(std::span<std::byte> memory,
                   const Result<std::vector<cuda::KernelRecord>>& recorded);

/// Requires that the writer no longer runs. `unsupported` with the writer's reason; `parse_failed`
/// for bytes that no correct writer leaves. Names are unchecked: pass them through `clean_name` for
/// display.
Result<std::vector<cuda::KernelRecord>> read_records(std::span<const std::byte> memory);

/// The same for the hardware counters of each kernel of a call, in order. Records stay as they are.
void write_counters(std::span<std::byte> memory,
                    const Result<std::vector<cuda::KernelCounters>>& counted);
/// As `read_records`; `parse_failed` if nothing was written.
Result<std::vector<cuda::KernelCounters>> read_counters(std::span<const std::byte> memory);

/// The text that was written instead of a list; `parse_failed` if its length is impossible.
Result<std::string> read_text(std::span<const std::byte> memory);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_layout.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

uint64_t whole_pieces(uint64_t bytes) {
  constexpr uint64_t piece = 2ULL << 20U;
  return (std::max<uint64_t>(bytes, 1) + piece - 1) / piece * piece;
}

/// Decimal gigabytes with one decimal.
std::string gigabytes(uint64_t bytes) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

}  // namespace

GpuRegionBytes gpu_region_bytes(const TaskSignature& signature, const BufferLayout& layout) {
  return {whole_pieces(layout.input_total()), whole_pieces(layout.output_total()),
          whole_pieces(layout.output_total()), whole_pieces(result_bytes(signature))};
}

uint64_t total_of(const GpuRegionBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

Result<BufferLayout> gpu_layout(const TaskSignature& signature, uint64_t available) {
  BufferLayout three = make_layout(signature, 3, gpu_alignment);
  if (total_of(gpu_region_bytes(signature, three)) <= available / 2) return three;
  BufferLayout two = make_layout(signature, 2, gpu_alignment);
  const uint64_t needed = total_of(gpu_region_bytes(signature, two));
  if (needed <= available) return two;
  return fail(ErrorCode::capacity, "the task needs " + gigabytes(needed) + " of device memory, " +
                                       gigabytes(available) + " are free");
}

bool gpu_memory_fits(uint64_t held, uint64_t needed) {
  return held >= needed && held <= std::max(2 * needed, always_kept);
}

}  // namespace warpsmith::sandbox

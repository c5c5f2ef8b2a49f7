// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/gpu/gpu_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/text.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

uint64_t whole_pieces(uint64_t bytes) {
  constexpr uint64_t piece = 2ULL << 20U;
  return (std::max<uint64_t>(bytes, 1) + piece - 1) / piece * piece;
}

}  // namespace

GpuRegionBytes gpu_region_bytes(const TaskSignature& signature, const BufferLayout& layout) {
  return {whole_pieces(layout.input_total()), whole_pieces(layout.output_total()),
          whole_pieces(layout.output_total()), whole_pieces(result_bytes(signature))};
}

uint64_t total_of(const GpuRegionBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

Result<BufferLayout> gpu_layout(const TaskSignature& signature, const GpuRoom& room) {
  const auto needed_by = [&](const BufferLayout& layout) {
    return total_of(gpu_region_bytes(signature, layout)) + room.worker;
  };
  for (const uint32_t sets : {3U, 2U}) {
    BufferLayout several = make_layout(signature, sets, gpu_alignment);
    if (needed_by(several) <= room.available / 2) return several;
  }
  BufferLayout layout = make_layout(signature, 1, gpu_alignment);
  const bool large =
      layout.input_stride + layout.output_stride >= caches_in_single_set * room.cache;
  if (!large) layout = make_layout(signature, 2, gpu_alignment);
  const uint64_t needed = needed_by(layout);
  if (needed <= room.available) return layout;
  return fail(ErrorCode::capacity, fmt::format("the task needs {} of device memory, {} are free",
                                               size_text(needed), size_text(room.available)));
}

bool gpu_memory_fits(uint64_t held, uint64_t needed) {
  return held >= needed && held <= std::max(2 * needed, always_kept);
}

}  // namespace warpsmith::sandbox

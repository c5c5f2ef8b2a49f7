// SPDX-License-Identifier: Apache-2.0
#include "sandbox/commit/shared_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t page_bytes = 4096;

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Result<MemoryFile> make_memory(const char* name, uint64_t bytes) {
  auto memory = MemoryFile::create(name, bytes);
  if (!memory) return fail("shared buffers", std::move(memory.error()));
  return memory;
}

/// Returns an alignment and an offset: tensor `i` begins that far after its guard zone, which has
/// that alignment. On a host as in torch and in exports: large inputs begin at the same place of a
/// page, and outputs half a page away, since stores hold up later loads from the same place of a
/// page. On a GPU the places differ; else all streams would share one cache set.
std::pair<uint64_t, uint64_t> place_of(bool output, size_t i, uint64_t alignment) {
  if (alignment == host_alignment) return {page_bytes, output ? page_bytes / 2 : 0};
  return {alignment, 3 * alignment * (i % 16)};
}

}  // namespace

BufferLayout make_layout(const TaskSignature& signature, uint32_t sets, uint64_t alignment) {
  assert(sets > 0 && "a layout has at least one set");
  BufferLayout layout;
  layout.sets = sets;
  for (size_t i = 0; i < signature.tensors.size(); ++i) {
    const TensorSpec& spec = signature.tensors[i];
    BufferSlot slot;
    slot.output = spec.role == TensorRole::output;
    slot.bytes = tensor_bytes(spec);
    uint64_t& stride = slot.output ? layout.output_stride : layout.input_stride;
    const auto [multiple, place] = place_of(slot.output, i, alignment);
    slot.offset = round_up(stride, multiple) + guard_bytes + place;
    stride = slot.offset + slot.bytes + guard_bytes;
    layout.slots.push_back(slot);
  }
  layout.input_stride = round_up(layout.input_stride, page_bytes);
  layout.output_stride = round_up(layout.output_stride, page_bytes);
  return layout;
}

std::vector<ByteZone> zones_between_outputs(const BufferLayout& layout) {
  std::vector<ByteZone> zones;
  uint64_t end = 0;
  for (const BufferSlot& slot : layout.slots) {
    if (!slot.output) continue;
    zones.push_back({end, slot.offset - end});
    end = slot.offset + slot.bytes;
  }
  if (end > 0) zones.push_back({end, layout.output_stride - end});
  return zones;
}

uint32_t sets_beyond_cache(const TaskSignature& signature, uint64_t cache_bytes) {
  const BufferLayout one = make_layout(signature, 1);
  const uint64_t per_set = std::max<uint64_t>(one.input_stride + one.output_stride, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(2 * cache_bytes / per_set + 1, 2, 64));
}

uint64_t last_level_cache_bytes() {
  constexpr uint64_t fallback = 32ULL << 20U;
  uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    std::string text;
    uint64_t kib = 0;
    if (!(file >> text)) continue;
    (void)std::from_chars(text.data(), text.data() + text.size(), kib);
    largest = std::max(largest, kib << (text.ends_with('M') ? 20U : 10U));
  }
  return largest > 0 ? largest : fallback;
}

bool is_reusable(const std::shared_ptr<const MemoryFile>& memory, uint64_t bytes) {
  constexpr uint64_t always_kept = 256ULL << 20U;
  if (!memory || memory->bytes().size() < bytes) return false;
  return memory->bytes().size() <= std::max(2 * bytes, always_kept);
}

SharedBuffers::SharedBuffers(BufferLayout layout, std::shared_ptr<const MemoryFile> memory,
                             bool output)
    : layout_(std::move(layout)), memory_(std::move(memory)), output_(output) {}

Result<SharedBuffers> SharedBuffers::inputs(const BufferLayout& layout) {
  std::shared_ptr<const MemoryFile> none;
  return inputs(layout, none);
}

Result<SharedBuffers> SharedBuffers::outputs(const BufferLayout& layout) {
  std::shared_ptr<const MemoryFile> none;
  return outputs(layout, none);
}

Result<SharedBuffers> SharedBuffers::inputs(const BufferLayout& layout,
                                            std::shared_ptr<const MemoryFile>& memory) {
  if (!is_reusable(memory, layout.input_total())) {
    memory.reset();
    TRY(auto made, make_memory("inputs", layout.input_total()));
    TRY_VOID(made.seal_future_writes());
    memory = std::make_shared<const MemoryFile>(std::move(made));
  }
  return SharedBuffers{layout, memory, false};
}

Result<SharedBuffers> SharedBuffers::outputs(const BufferLayout& layout,
                                             std::shared_ptr<const MemoryFile>& memory) {
  if (is_reusable(memory, layout.output_total())) {
    // All bytes: the descriptor shows more than the layout uses.
    std::memset(memory->bytes().data(), 0, memory->bytes().size());
    return SharedBuffers{layout, memory, true};
  }
  memory.reset();
  TRY(auto made, make_memory("outputs", layout.output_total()));
  memory = std::make_shared<const MemoryFile>(std::move(made));
  return SharedBuffers{layout, memory, true};
}

std::span<std::byte> SharedBuffers::slice(uint32_t set, uint64_t offset, uint64_t bytes) const {
  assert(set < layout_.sets && "no such buffer set");
  const uint64_t stride = output_ ? layout_.output_stride : layout_.input_stride;
  return memory_->bytes().subspan(set * stride + offset, bytes);
}

std::span<std::byte> SharedBuffers::whole(uint32_t set) const {
  return slice(set, 0, output_ ? layout_.output_stride : layout_.input_stride);
}

std::span<std::byte> SharedBuffers::tensor(uint32_t set, size_t tensor) const {
  const BufferSlot& slot = layout_.slots.at(tensor);
  assert(slot.output == output_ && "the tensor lives in the other memory");
  return slice(set, slot.offset, slot.bytes);
}

CandidateMemory candidate_memory(const SharedBuffers& inputs, const SharedBuffers& outputs) {
  const BufferLayout& layout = inputs.layout();
  return {layout, inputs.fd(), outputs.fd(), layout.input_total(), layout.output_total()};
}

}  // namespace warpsmith::sandbox

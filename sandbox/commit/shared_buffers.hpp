// SPDX-License-Identifier: Apache-2.0
// The tensors of a task in memory that verifier and contestants share. Contestants read inputs and
// write outputs. There are several sets of each, so that caches stay cold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/process/memory_file.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/commit/tensor_memory.hpp"

namespace warpsmith::sandbox {

/// Bytes of guard zone before and after every tensor: one page, so that an overrun by a vector
/// or a row lands in it.
inline constexpr uint64_t guard_bytes = 4096;

/// Where one tensor lies: in the memory of the outputs if `output`, else in that of the inputs.
struct BufferSlot {
  uint64_t offset = 0;  // from the start of a set; a multiple of the layout's alignment
  uint64_t bytes = 0;
  bool output = false;

  WARPSMITH_RECORD(offset, bytes, output)
};

/// Tensor `i` of set `k` starts at k * stride + slots[i].offset of its memory.
struct BufferLayout {
  std::vector<BufferSlot> slots;  // in the order of the signature
  uint64_t input_stride = 0;      // bytes of one set of inputs and parameters
  uint64_t output_stride = 0;
  uint32_t sets = 0;

  uint64_t input_total() const { return input_stride * sets; }
  uint64_t output_total() const { return output_stride * sets; }
  /// The same tensors at the same places, of one set.
  BufferLayout one_set() const { return {slots, input_stride, output_stride, 1}; }

  WARPSMITH_RECORD(slots, input_stride, output_stride, sets)
};

/// The bytes of one set of outputs that belong to no tensor: guard zones and what lies between
/// them, in order. Each is at least a guard zone long.
struct ByteZone {
  uint64_t offset = 0, bytes = 0;
};
std::vector<ByteZone> zones_between_outputs(const BufferLayout& layout);

/// Bytes that every tensor's place is a multiple of.
inline constexpr uint64_t host_alignment = 64, gpu_alignment = 256;

/// Requires sets > 0.
BufferLayout make_layout(const TaskSignature& signature, uint32_t sets,
                         uint64_t alignment = host_alignment);

/// The number of sets that take more than twice the last-level cache (at least 2, at most 64).
/// `cache_bytes` comes from `last_level_cache_bytes` or a configuration.
uint32_t sets_beyond_cache(const TaskSignature& signature, uint64_t cache_bytes);
/// This machine's, from sysfs; 32 MiB if sysfs has none.
uint64_t last_level_cache_bytes();

/// One memory of all sets' inputs or of all sets' outputs, mapped and prefaulted in the verifier.
class SharedBuffers {
 public:
  /// Inputs and parameters. Contestants get a descriptor that cannot be written or mapped writable.
  static Result<SharedBuffers> inputs(const BufferLayout& layout);
  /// Outputs. Each contestant gets its own outputs.
  static Result<SharedBuffers> outputs(const BufferLayout& layout);

  /// The same in `memory`, which earlier buffers left, if it is large enough (prefaulting new
  /// memory costs 1 ms per MB); else `memory` becomes new memory. Requires that the earlier buffers
  /// and all processes that map them are gone. Old inputs stay readable until they are filled; old
  /// outputs are zeroed.
  static Result<SharedBuffers> inputs(const BufferLayout& layout,
                                      std::shared_ptr<const MemoryFile>& memory);
  static Result<SharedBuffers> outputs(const BufferLayout& layout,
                                       std::shared_ptr<const MemoryFile>& memory);

  /// Requires that slot `tensor` lies in this memory. Use it only while contestants are stopped.
  std::span<std::byte> tensor(uint32_t set, size_t tensor) const;
  /// Requires a zone of one set of this memory.
  std::span<std::byte> zone(uint32_t set, const ByteZone& zone) const {
    return slice(set, zone.offset, zone.bytes);
  }

  /// A whole set: tensors, guards and what lies between.
  std::span<std::byte> whole(uint32_t set) const;

  const BufferLayout& layout() const { return layout_; }
  int fd() const { return memory_->fd(); }

 private:
  SharedBuffers(BufferLayout layout, std::shared_ptr<const MemoryFile> memory, bool output);
  std::span<std::byte> slice(uint32_t set, uint64_t offset, uint64_t bytes) const;

  BufferLayout layout_;
  std::shared_ptr<const MemoryFile> memory_;  // at least as large as the layout says
  bool output_ = false;
};

/// What a candidate's process gets. This process keeps the descriptors.
struct CandidateMemory {
  BufferLayout layout;
  int inputs = -1, outputs = -1;
  uint64_t input_bytes = 0, output_bytes = 0;
};
CandidateMemory candidate_memory(const SharedBuffers& inputs, const SharedBuffers& outputs);

/// Whether `memory` has at least `bytes` and not far more; else new memory must be made.
bool is_reusable(const std::shared_ptr<const MemoryFile>& memory, uint64_t bytes);

}  // namespace warpsmith::sandbox

// SPDX-License-Identifier: Apache-2.0
// Attention over pages in bf16 by FlashInfer's kernels: a plan per batch, then a call per layer.
// Only for shapes that `flash_has` them for; others use plain_attention.
#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/generate/cuda/kernels.hpp"

namespace warpsmith::policy::cuda {

struct AttentionShape {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
};

/// True for heads of 64 or 128 dimensions.
bool flash_has(const AttentionShape& shape);

/// Scratch of one engine. A plan writes `pinned` and copies it to `ints` on the stream, so `pinned`
/// must stay unchanged until the stream has passed that copy.
struct AttentionScratch {
  void* floats = nullptr;  // device: attention_float_bytes
  void* ints = nullptr;    // device: attention_int_bytes
  void* pinned = nullptr;  // host: attention_int_bytes
};

/// The batch to plan for; host arrays, of BatchRows.
struct AttentionBatch {
  const int32_t* row_starts = nullptr;
  const int32_t* block_starts = nullptr;
  int64_t rows = 0, sequences = 0;
  bool one_row_each = false;  // every sequence has one row
  bool for_graph = false;     // all plans for as many sequences share one recorded graph
};

/// How a batch is split among thread blocks. Offsets are in the scratch.
struct AttentionPlan {
  static constexpr size_t words = 15;
  bool one_row_each = false;  // planned for FlashInfer's decode kernel, else for its prefill kernel
  int64_t info[words] = {};
};

/// Throws std::runtime_error if FlashInfer refuses, DeviceError if the GPU does.
AttentionPlan plan_attention(const AttentionShape& shape, const AttentionBatch& batch,
                             const AttentionScratch& scratch, StreamHandle stream);

/// One layer's attention; device arrays.
struct AttentionTask {
  void* queries = nullptr;  // rows of `query_stride` elements
  void* keys = nullptr;     // of the layer: (blocks, kv_heads, 16, head_dim)
  void* values = nullptr;
  void* out = nullptr;  // (N, heads x head_dim)
  int32_t* row_starts = nullptr;
  int32_t* block_starts = nullptr;
  int32_t* blocks = nullptr;
  int32_t* last_lengths = nullptr;
  int64_t rows = 0, sequences = 0, query_stride = 0;
};
void flash_attention(const AttentionShape& shape, const AttentionTask& task,
                     const AttentionPlan& plan, const AttentionScratch& scratch,
                     StreamHandle stream);

}  // namespace warpsmith::policy::cuda

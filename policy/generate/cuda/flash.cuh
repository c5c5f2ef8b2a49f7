// SPDX-License-Identifier: Apache-2.0
// Code shared by the files that instantiate FlashInfer's kernels.
#pragma once

#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>

#include "policy/generate/cuda/device_code.cuh"
#include "policy/generate/cuda/device_types.hpp"
#include "policy/generate/cuda/flash_attention.hpp"

namespace warpsmith::policy::cuda {

using Pages = flashinfer::paged_kv_t<Bf16, int32_t>;
using PlainSoftmax = flashinfer::DefaultAttention</*use_custom_mask=*/false,
                                                  /*use_sliding_window=*/false,
                                                  /*use_logits_soft_cap=*/false,
                                                  /*use_alibi=*/false>;
constexpr auto no_positions = flashinfer::PosEncodingMode::kNone;

/// Launch parameters that both kinds of kernels have.
template <class Params>
Params params_of(const AttentionShape& shape, const AttentionTask& task) {
  Params params;
  params.q = static_cast<Bf16*>(task.queries);
  params.o = static_cast<Bf16*>(task.out);
  params.num_qo_heads = static_cast<uint32_t>(shape.heads);
  params.q_stride_n = static_cast<int32_t>(task.query_stride);
  params.q_stride_h = static_cast<int32_t>(shape.head_dim);
  params.window_left = -1;
  params.sm_scale = 1.0F / sqrtf(static_cast<float>(shape.head_dim));
  params.rope_rcp_scale = params.rope_rcp_theta = 1.0F;
  params.paged_kv =
      Pages(static_cast<uint32_t>(shape.kv_heads), static_cast<uint32_t>(page_tokens),
            static_cast<uint32_t>(shape.head_dim), static_cast<uint32_t>(task.sequences),
            flashinfer::QKVLayout::kHND, static_cast<Bf16*>(task.keys),
            static_cast<Bf16*>(task.values), task.blocks, task.block_starts, task.last_lengths);
  return params;
}

template <class T>
T* at_offset(void* base, int64_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}

/// True if the decode kernel has this many query heads for each key head.
bool has_decode_kernel(int64_t group);

/// The decode kernel: one row for each sequence.
void plan_decode(const AttentionShape& shape, const AttentionBatch& batch,
                 const AttentionScratch& scratch, StreamHandle stream, AttentionPlan& plan);
void run_decode(const AttentionShape& shape, const AttentionTask& task, const AttentionPlan& plan,
                const AttentionScratch& scratch, StreamHandle stream);

/// The prefill kernel: causal rows at the end of each sequence.
void plan_prefill(const AttentionShape& shape, const AttentionBatch& batch,
                  const AttentionScratch& scratch, StreamHandle stream, AttentionPlan& plan);
void run_prefill(const AttentionShape& shape, const AttentionTask& task, const AttentionPlan& plan,
                 const AttentionScratch& scratch, StreamHandle stream);

/// Calls `work` with the head size as a constant.
template <class Work>
void with_head_dim(int64_t head_dim, const Work& work) {
  if (head_dim == 64) {
    work(std::integral_constant<uint32_t, 64>{});
  } else {
    work(std::integral_constant<uint32_t, 128>{});
  }
}

}  // namespace warpsmith::policy::cuda

// SPDX-License-Identifier: Apache-2.0
// FlashInfer's prefill kernel, and the choice between it and the decode kernel.
#include "policy/generate/cuda/flash.cuh"

#include <flashinfer/attention/prefill.cuh>

namespace warpsmith::policy::cuda {
namespace {

using Params = flashinfer::BatchPrefillPagedParams<Bf16, Bf16, Bf16, int32_t>;

flashinfer::PrefillPlanInfo info_of(const AttentionPlan& plan) {
  flashinfer::PrefillPlanInfo info;
  info.FromVector({plan.info, plan.info + info.ToVector().size()});
  return info;
}

/// Points the parameters at the plan's arrays; returns the place for partial values, if any.
Bf16* use_plan(const flashinfer::PrefillPlanInfo& info, const AttentionScratch& scratch,
               Params& params) {
  params.padded_batch_size = static_cast<uint32_t>(info.padded_batch_size);
  params.max_total_num_rows = static_cast<uint32_t>(info.total_num_rows);
  params.request_indices = at_offset<int32_t>(scratch.ints, info.request_indices_offset);
  params.qo_tile_indices = at_offset<int32_t>(scratch.ints, info.qo_tile_indices_offset);
  params.kv_tile_indices = at_offset<int32_t>(scratch.ints, info.kv_tile_indices_offset);
  params.o_indptr = at_offset<int32_t>(scratch.ints, info.o_indptr_offset);
  params.kv_chunk_size_ptr = at_offset<int32_t>(scratch.ints, info.kv_chunk_size_ptr_offset);
  if (info.enable_cuda_graph) {
    params.total_num_rows = at_offset<uint32_t>(scratch.ints, info.total_num_rows_offset);
  }
  if (!info.split_kv) return nullptr;
  params.merge_indptr = at_offset<int32_t>(scratch.ints, info.merge_indptr_offset);
  if (info.enable_cuda_graph) {
    params.block_valid_mask = at_offset<bool>(scratch.ints, info.block_valid_mask_offset);
  }
  return at_offset<Bf16>(scratch.floats, info.v_offset);
}

}  // namespace

void plan_prefill(const AttentionShape& shape, const AttentionBatch& batch,
                  const AttentionScratch& scratch, StreamHandle stream, AttentionPlan& plan) {
  flashinfer::PrefillPlanInfo info;
  const auto heads = static_cast<uint32_t>(shape.heads);
  const auto head_dim = static_cast<uint32_t>(shape.head_dim);
  check_call(
      flashinfer::PrefillPlan<int32_t>(
          scratch.floats, attention_float_bytes, scratch.ints, scratch.pinned, attention_int_bytes,
          info, const_cast<int32_t*>(batch.row_starts), const_cast<int32_t*>(batch.block_starts),
          static_cast<uint32_t>(batch.rows), static_cast<uint32_t>(batch.sequences), heads,
          static_cast<uint32_t>(shape.kv_heads), head_dim, head_dim,
          static_cast<uint32_t>(page_tokens), batch.for_graph, sizeof(Bf16),
          /*window_left=*/-1, /*fixed_split_size=*/-1, /*disable_split_kv=*/false,
          /*num_colocated_ctas=*/0, /*uniform_q_len=*/batch.one_row_each ? 1 : 0, stream),
      "plan_prefill");
  const auto words = info.ToVector();
  std::copy(words.begin(), words.end(), plan.info);
}

void run_prefill(const AttentionShape& shape, const AttentionTask& task, const AttentionPlan& plan,
                 const AttentionScratch& scratch, StreamHandle stream) {
  const flashinfer::PrefillPlanInfo info = info_of(plan);
  auto params = params_of<Params>(shape, task);
  params.q_indptr = task.row_starts;
  params.group_size = flashinfer::uint_fastdiv(static_cast<uint32_t>(shape.heads / shape.kv_heads));
  Bf16* part_values = use_plan(info, scratch, params);
  float* part_sums =
      part_values == nullptr ? nullptr : at_offset<float>(scratch.floats, info.s_offset);
  with_head_dim(shape.head_dim, [&]<uint32_t D>(std::integral_constant<uint32_t, D>) {
    DISPATCH_CTA_TILE_Q(info.cta_tile_q, CTA_TILE_Q, {
      const cudaError_t code = flashinfer::BatchPrefillWithPagedKVCacheDispatched<
          CTA_TILE_Q, D, D, no_positions, /*USE_FP16_QK_REDUCTION=*/false,
          flashinfer::MaskMode::kCausal, PlainSoftmax>(params, part_values, part_sums,
                                                       /*enable_pdl=*/false, stream);
      check_call(code, "prefill attention");
    });
  });
}

bool flash_has(const AttentionShape& shape) {
  return shape.head_dim == 64 || shape.head_dim == 128;
}

AttentionPlan plan_attention(const AttentionShape& shape, const AttentionBatch& batch,
                             const AttentionScratch& scratch, StreamHandle stream) {
  AttentionPlan plan;
  plan.one_row_each = batch.one_row_each && has_decode_kernel(shape.heads / shape.kv_heads);
  if (plan.one_row_each) {
    plan_decode(shape, batch, scratch, stream, plan);
  } else {
    plan_prefill(shape, batch, scratch, stream, plan);
  }
  return plan;
}

void flash_attention(const AttentionShape& shape, const AttentionTask& task,
                     const AttentionPlan& plan, const AttentionScratch& scratch,
                     StreamHandle stream) {
  if (plan.one_row_each) return run_decode(shape, task, plan, scratch, stream);
  run_prefill(shape, task, plan, scratch, stream);
}

}  // namespace warpsmith::policy::cuda

// SPDX-License-Identifier: Apache-2.0
// FlashInfer's decode kernel.
#include "policy/generate/cuda/flash.cuh"

#include <flashinfer/attention/decode.cuh>

namespace warpsmith::policy::cuda {
namespace {

using Params = flashinfer::BatchDecodeParams<Bf16, Bf16, Bf16, int32_t>;

flashinfer::DecodePlanInfo info_of(const AttentionPlan& plan) {
  flashinfer::DecodePlanInfo info;
  info.FromVector({plan.info, plan.info + info.ToVector().size()});
  return info;
}

}  // namespace

bool has_decode_kernel(int64_t group) {
  return group == 1 || group == 2 || group == 3 || group == 4 || group == 6 || group == 8;
}

void plan_decode(const AttentionShape& shape, const AttentionBatch& batch,
                 const AttentionScratch& scratch, StreamHandle stream, AttentionPlan& plan) {
  flashinfer::DecodePlanInfo info;
  with_head_dim(shape.head_dim, [&]<uint32_t D>(std::integral_constant<uint32_t, D>) {
    DISPATCH_GQA_GROUP_SIZE(shape.heads / shape.kv_heads, GROUP_SIZE, {
      const auto estimate = flashinfer::BatchDecodeWithPagedKVCacheWorkEstimationDispatched<
          GROUP_SIZE, D, no_positions, PlainSoftmax, Params>;
      check_call(flashinfer::DecodePlan<D, no_positions, PlainSoftmax, Params>(
                     scratch.floats, attention_float_bytes, scratch.ints, scratch.pinned,
                     attention_int_bytes, info, const_cast<int32_t*>(batch.block_starts),
                     static_cast<uint32_t>(batch.sequences), static_cast<uint32_t>(shape.heads),
                     static_cast<uint32_t>(page_tokens), batch.for_graph, stream, estimate),
                 "plan_decode");
    });
  });
  const auto words = info.ToVector();
  std::copy(words.begin(), words.end(), plan.info);
}

void run_decode(const AttentionShape& shape, const AttentionTask& task, const AttentionPlan& plan,
                const AttentionScratch& scratch, StreamHandle stream) {
  const flashinfer::DecodePlanInfo info = info_of(plan);
  auto params = params_of<Params>(shape, task);
  params.padded_batch_size = static_cast<uint32_t>(info.padded_batch_size);
  params.request_indices = at_offset<int32_t>(scratch.ints, info.request_indices_offset);
  params.kv_tile_indices = at_offset<int32_t>(scratch.ints, info.kv_tile_indices_offset);
  params.o_indptr = at_offset<int32_t>(scratch.ints, info.o_indptr_offset);
  params.kv_chunk_size_ptr = at_offset<int32_t>(scratch.ints, info.kv_chunk_size_ptr_offset);
  Bf16* part_values = nullptr;
  float* part_sums = nullptr;
  if (info.split_kv) {
    part_values = at_offset<Bf16>(scratch.floats, info.v_offset);
    part_sums = at_offset<float>(scratch.floats, info.s_offset);
    if (info.enable_cuda_graph) {
      params.block_valid_mask = at_offset<bool>(scratch.ints, info.block_valid_mask_offset);
    }
  }
  with_head_dim(shape.head_dim, [&]<uint32_t D>(std::integral_constant<uint32_t, D>) {
    const cudaError_t code =
        flashinfer::BatchDecodeWithPagedKVCacheDispatched<D, no_positions, PlainSoftmax>(
            params, part_values, part_sums, /*enable_pdl=*/false, stream);
    check_call(code, "decode attention");
  });
}

}  // namespace warpsmith::policy::cuda

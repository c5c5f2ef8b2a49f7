// SPDX-License-Identifier: Apache-2.0
// The transformer's forward pass on a GPU, from tokens to sampled tokens: puts the kernels of one
// step on a stream. Computes what Transformer computes; hidden states between layers are float32.
// For sources built with the toolkit only.
#pragma once

#include "policy/generate/cuda/attention.hpp"
#include "policy/generate/cuda/batch_rows.hpp"
#include "policy/generate/cuda/blas.hpp"
#include "policy/generate/cuda/device_weights.hpp"
#include "policy/generate/cuda/memory_plan.hpp"

namespace warpsmith::policy::cuda {

/// The counts of a batch, and how its attention is split.
struct StepShape {
  int64_t rows = 0, sequences = 0, samples = 0;
  AttentionPlan attention;  // unused without FlashInfer
};

class CudaModel {
 public:
  /// Takes the memory that `plan_memory` says. Throws DeviceError.
  CudaModel(const warpsmith::cuda::Context& context, const ModelConfig& model,
            const EngineConfig& config, Precision precision);

  /// False if attention goes through plain_attention.
  bool flash() const { return flash_; }
  DeviceWeights& weights() { return weights_; }
  const AttentionShape& attention_shape() const { return shape_; }
  /// Where the host copies a batch, laid out as BatchLayout says.
  CUdeviceptr batch_buffer() const { return batch_.address(); }
  CUdeviceptr samples() const { return samples_.address(); }
  /// `pinned` is the host's part of the scratch for one batch.
  AttentionScratch scratch(void* pinned) const;
  /// Block that no sequence has; padding rows write to it.
  BlockId scratch_block() const { return scratch_block_; }

  /// Puts a step on the stream. Its batch must have been copied before, on the same stream.
  void forward(const Blas& blas, const StepShape& step, StreamHandle stream) const;

 private:
  struct Arrays;  // device addresses of the batch's fields

  /// By cuBLAS, or by narrow_product if there are few rows.
  void multiply(const Blas& blas, const Product& product, StreamHandle stream) const;
  void attention(const Blas& blas, const Arrays& batch, const StepShape& step, size_t layer,
                 StreamHandle stream) const;
  void attend(const Arrays& batch, const StepShape& step, size_t layer, StreamHandle stream) const;
  void feed_forward(const Blas& blas, const StepShape& step, size_t layer,
                    StreamHandle stream) const;
  void head(const Blas& blas, const Arrays& batch, const StepShape& step,
            StreamHandle stream) const;
  void fill_angles(const warpsmith::cuda::Api& api, int64_t positions);
  /// Memory for `rows` rows of `width` elements.
  warpsmith::cuda::DeviceMemory elements(const warpsmith::cuda::Api& api, int64_t rows,
                                         int64_t width) const;
  std::byte* cache(size_t layer, bool values) const;

  ModelConfig model_;
  Precision precision_;
  BatchLimits limits_;
  AttentionShape shape_;
  bool flash_;
  BlockId scratch_block_;
  DeviceWeights weights_;
  warpsmith::cuda::DeviceMemory cache_;    // (layer, key or value, block, kv_head, 16, head_dim)
  warpsmith::cuda::DeviceMemory batch_;    // of the largest batch
  warpsmith::cuda::DeviceMemory samples_;  // DeviceSample of the newest batch
  warpsmith::cuda::DeviceMemory hidden_;   // (N, H) float
  warpsmith::cuda::DeviceMemory normed_;   // (N, H) elements
  warpsmith::cuda::DeviceMemory qkv_;      // (N, Q + 2K) elements
  warpsmith::cuda::DeviceMemory mixed_;    // (N, Q) elements
  warpsmith::cuda::DeviceMemory both_;     // (N, 2F) elements
  warpsmith::cuda::DeviceMemory gated_;    // (N, F) elements
  warpsmith::cuda::DeviceMemory chosen_;   // (M, H) elements: normed rows to sample
  warpsmith::cuda::DeviceMemory logits_;   // (M, V) float
  warpsmith::cuda::DeviceMemory partials_;
  warpsmith::cuda::DeviceMemory angles_;  // (positions, head_dim) float
  warpsmith::cuda::DeviceMemory floats_;  // of attention
  warpsmith::cuda::DeviceMemory ints_;
};

}  // namespace warpsmith::policy::cuda

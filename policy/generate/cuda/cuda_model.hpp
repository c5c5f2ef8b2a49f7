// SPDX-License-Identifier: Apache-2.0
// The transformer's forward pass on a GPU, from tokens to sampled tokens: puts the kernels of one
// step on a stream. Computes what Transformer computes; hidden states between layers are float32.
// For sources built with the toolkit only.
#pragma once

#include <cublas_v2.h>

#include <memory>

#include "policy/generate/cuda/batch_rows.hpp"
#include "policy/generate/cuda/device_types.hpp"
#include "policy/generate/cuda/device_weights.hpp"
#include "policy/generate/cuda/flash_attention.hpp"
#include "policy/generate/cuda/memory_plan.hpp"
#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy::cuda {

/// y (n, outputs) = x (n, inputs) w^T, with w (outputs, inputs); all row-major. x and w are
/// elements; y is float if `float_result`, else elements. `add` adds to y instead.
struct Product {
  const void* x = nullptr;
  const void* w = nullptr;
  void* y = nullptr;
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool float_result = false;
  bool add = false;
};

/// Matrix products by cuBLAS, which is loaded at run time: LibTorch's wheel contains it, and a
/// program that is built with a toolkit still starts without it.
class Blas {
 public:
  /// For the current context. `workspace` has `blas_workspace_bytes` of device memory and outlives
  /// this. `unsupported` if cuBLAS is not found, `infrastructure` if it does not start.
  static Result<Blas> make(Precision precision, cudaStream_t stream, void* workspace);

  /// Puts a product on the stream. Sums are float32, never TF32. Throws DeviceError.
  void multiply(const Product& product) const;

 private:
  struct Calls;
  struct Destroy {
    const Calls* calls;
    void operator()(cublasHandle_t handle) const noexcept;
  };
  Blas(const Calls& calls, cublasHandle_t handle, Precision precision);
  static Result<const Calls*> load();

  const Calls* calls_;
  std::unique_ptr<cublasContext, Destroy> handle_;
  Precision precision_;
};

/// The counts of a batch, and how its attention is split.
struct StepShape {
  int64_t rows = 0, sequences = 0, samples = 0;
  AttentionPlan attention;  // unused without FlashInfer
};

class CudaModel {
 public:
  /// Allocates the memory that `plan_memory` computes. Throws DeviceError.
  CudaModel(const warpsmith::cuda::Context& context, const ModelConfig& model,
            const EngineConfig& config, Precision precision);

  /// False if attention goes through plain_attention.
  bool flash() const { return flash_; }
  DeviceWeights& weights() { return weights_; }
  const AttentionShape& attention_shape() const { return shape_; }
  /// Where the host copies a batch, in the layout of BatchLayout.
  CUdeviceptr batch_buffer() const { return batch_.address(); }
  CUdeviceptr samples() const { return samples_.address(); }
  /// `pinned` is the host's part of the scratch for one batch.
  AttentionScratch scratch(void* pinned) const;
  /// A block that no sequence uses; padding rows write to it.
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

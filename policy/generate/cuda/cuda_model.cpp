// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/cuda_model.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "policy/generate/cuda/memory_plan.hpp"
#include "policy/model/rope.hpp"
#include "runtime/cuda/device_error.hpp"

namespace warpsmith::policy::cuda {
namespace {

/// cublasGemmEx; the header overloads it.
using MultiplyCall = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType, int, const void*,
                                    cudaDataType, int, const void*, void*, cudaDataType, int,
                                    cublasComputeType_t, cublasGemmAlgo_t);

template <class Function>
bool take(const warpsmith::cuda::DynamicLibrary& library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(library.find(name));
  return into != nullptr;
}

std::string library_name() {
  return fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
}

namespace driver = warpsmith::cuda;

driver::DeviceMemory memory_for(const driver::Api& api, int64_t count, size_t size) {
  return {api, static_cast<uint64_t>(count) * size};
}

template <class T>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's type
}

template <class T = void>
T* pointer(const driver::DeviceMemory& memory) {
  return pointer<T>(memory.address());
}

}  // namespace

struct Blas::Calls {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  MultiplyCall* multiply;
};

Result<const Blas::Calls*> Blas::load() {
  static const Result<Calls> loaded = []() -> Result<Calls> {
    const auto library = warpsmith::cuda::DynamicLibrary::open({library_name()});
    if (!library) return fail("cuBLAS", library.error());
    Calls calls{};
    const bool complete = take(*library, "cublasCreate_v2", calls.create) &&
                          take(*library, "cublasDestroy_v2", calls.destroy) &&
                          take(*library, "cublasSetStream_v2", calls.set_stream) &&
                          take(*library, "cublasSetWorkspace_v2", calls.set_workspace) &&
                          take(*library, "cublasGemmEx", calls.multiply);
    if (complete) return calls;
    return fail(ErrorCode::unsupported,
                fmt::format("{} lacks a call of version {}", library_name(), CUBLAS_VER_MAJOR));
  }();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

void Blas::Destroy::operator()(cublasHandle_t handle) const noexcept {
  (void)calls->destroy(handle);
}

Blas::Blas(const Calls& calls, cublasHandle_t handle, Precision precision)
    : calls_(&calls), handle_(handle, Destroy{&calls}), precision_(precision) {}

Result<Blas> Blas::make(Precision precision, cudaStream_t stream, void* workspace) {
  TRY(const auto calls, load());
  cublasHandle_t handle = nullptr;
  if (const cublasStatus_t code = calls->create(&handle); code != CUBLAS_STATUS_SUCCESS) {
    return fail(ErrorCode::infrastructure, fmt::format("cublasCreate: status {}", code));
  }
  Blas blas(*calls, handle, precision);
  const bool ready =
      calls->set_stream(handle, stream) == CUBLAS_STATUS_SUCCESS &&
      calls->set_workspace(handle, workspace, static_cast<size_t>(blas_workspace_bytes)) ==
          CUBLAS_STATUS_SUCCESS;
  if (!ready) return fail(ErrorCode::infrastructure, "cuBLAS refused its stream or workspace");
  return blas;
}

void Blas::multiply(const Product& p) const {
  const cudaDataType element = precision_ == Precision::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType result = p.float_result ? CUDA_R_32F : element;
  const float one = 1;
  const float beta = p.add ? 1 : 0;
  const auto rows = static_cast<int>(p.rows);
  const auto inputs = static_cast<int>(p.inputs);
  const auto outputs = static_cast<int>(p.outputs);
  // Column-major: y^T (outputs, n) = w (outputs, inputs) x^T.
  const cublasStatus_t code = calls_->multiply(
      handle_.get(), CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, inputs, &one, p.w, element, inputs,
      p.x, element, inputs, &beta, p.y, result, outputs, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw warpsmith::cuda::DeviceError(
      fmt::format("cublasGemmEx ({}, {}) x ({}): status {}", p.rows, p.inputs, p.outputs, code),
      static_cast<int>(code));
}

struct CudaModel::Arrays {
  Arrays(const driver::DeviceMemory& memory, const StepShape& step)
      : layout(step.rows, step.sequences, step.samples), base(memory.address()) {}

  int32_t* at(int64_t offset) const {
    return pointer<int32_t>(base + static_cast<uint64_t>(offset));
  }

  BatchLayout layout;
  CUdeviceptr base;
};

driver::DeviceMemory CudaModel::elements(const driver::Api& api, int64_t rows,
                                         int64_t width) const {
  return memory_for(api, rows * width, static_cast<size_t>(element_bytes(precision_)));
}

CudaModel::CudaModel(const driver::Context& context, const ModelConfig& model,
                     const EngineConfig& config, Precision precision)
    : model_(model),
      precision_(precision),
      limits_(config),
      shape_{model.heads, model.kv_heads, model.head_dim},
      flash_(precision == Precision::bf16 && flash_has(shape_)),
      scratch_block_(static_cast<BlockId>(config.blocks())),
      weights_(context.api(), model, precision),
      cache_(elements(context.api(), 2 * model.layers * (config.blocks() + 1),
                      model.kv_size() * block_tokens)),
      batch_(memory_for(
          context.api(),
          BatchLayout(limits_.rows, limits_.sequences, limits_.sequences).bytes(limits_.blocks),
          1)),
      samples_(memory_for(context.api(), limits_.sequences, sizeof(DeviceSample))),
      hidden_(memory_for(context.api(), limits_.rows * model.hidden, sizeof(float))),
      normed_(elements(context.api(), limits_.rows, model.hidden)),
      qkv_(elements(context.api(), limits_.rows, model.qkv_size())),
      mixed_(elements(context.api(), limits_.rows, model.q_size())),
      both_(elements(context.api(), limits_.rows, 2 * model.ffn)),
      gated_(elements(context.api(), limits_.rows, model.ffn)),
      chosen_(elements(context.api(), limits_.sequences, model.hidden)),
      logits_(memory_for(context.api(), limits_.sequences * model.vocab, sizeof(float))),
      partials_(memory_for(context.api(), sample_partial_bytes(limits_.sequences, model.vocab), 1)),
      angles_(memory_for(context.api(), config.max_session_tokens * model.head_dim, sizeof(float))),
      floats_(memory_for(context.api(), attention_float_bytes, 1)),
      ints_(memory_for(context.api(), attention_int_bytes, 1)) {
  fill_angles(context.api(), config.max_session_tokens);
  // Attention reads past the end of a sequence in its last block with weight 0, and 0 times NaN is
  // not 0.
  driver::check(context.api(),
                context.api().cuMemsetD8Async(cache_.address(), 0, cache_.bytes(), nullptr),
                "cuMemsetD8Async");
  context.synchronize();
}

void CudaModel::fill_angles(const driver::Api& api, int64_t positions) {
  const RopeAngles angles = rope_angles(rope_frequencies(model_), at::arange(positions, at::kLong),
                                        at::kFloat, rope_magnitude(model_));
  const at::Tensor both = at::cat({angles.cos, angles.sin}, -1).contiguous();
  driver::check(api, api.cuMemcpyHtoD(angles_.address(), both.const_data_ptr(), angles_.bytes()),
                "cuMemcpyHtoD");
}

AttentionScratch CudaModel::scratch(void* pinned) const {
  return {pointer(floats_), pointer(ints_), pinned};
}

std::byte* CudaModel::cache(size_t layer, bool values) const {
  const uint64_t part = cache_.bytes() / static_cast<uint64_t>(2 * model_.layers);
  return pointer<std::byte>(cache_) + (2 * layer + (values ? 1 : 0)) * part;
}

void CudaModel::multiply(const Blas& blas, const Product& p, StreamHandle stream) const {
  const bool narrow = precision_ == Precision::bf16 && p.rows <= most_narrow_rows &&
                      p.inputs % narrow_multiple == 0;
  if (!narrow) return blas.multiply(p);
  narrow_product({p.x, p.w, p.y, p.rows, p.inputs, p.outputs, p.float_result, p.add}, stream);
}

void CudaModel::forward(const Blas& blas, const StepShape& step, StreamHandle stream) const {
  const Arrays batch(batch_, step);
  embed({.table = weights_.embed(),
         .tokens = batch.at(batch.layout.tokens),
         .from_samples = batch.at(batch.layout.from_samples),
         .samples = pointer<DeviceSample>(samples_),
         .hidden = pointer<float>(hidden_),
         .rows = step.rows,
         .width = model_.hidden},
        precision_, stream);
  for (size_t layer = 0; layer < weights_.layers().size(); ++layer) {
    attention(blas, batch, step, layer, stream);
    feed_forward(blas, step, layer, stream);
  }
  if (step.samples > 0) head(blas, batch, step, stream);
}

void CudaModel::attention(const Blas& blas, const Arrays& batch, const StepShape& step,
                          size_t layer, StreamHandle stream) const {
  const DeviceLayer& w = weights_.layers()[layer];
  // The bias of the feed-forward part before this one is still to be added.
  const void* earlier_bias = layer == 0 ? nullptr : weights_.layers()[layer - 1].down_bias;
  rms_norm({.hidden = pointer<float>(hidden_),
            .bias = earlier_bias,
            .weight = w.input_norm,
            .out = pointer(normed_),
            .rows = step.rows,
            .width = model_.hidden,
            .eps = static_cast<float>(model_.rms_eps)},
           precision_, stream);
  multiply(blas,
           {.x = pointer(normed_),
            .w = w.qkv,
            .y = pointer(qkv_),
            .rows = step.rows,
            .inputs = model_.hidden,
            .outputs = model_.qkv_size()},
           stream);
  rotate_and_store({.qkv = pointer(qkv_),
                    .bias = w.qkv_bias,
                    .q_norm = w.q_norm,
                    .k_norm = w.k_norm,
                    .cos_sin = pointer<float>(angles_),
                    .positions = batch.at(batch.layout.positions),
                    .slots = batch.at(batch.layout.slots),
                    .keys = cache(layer, false),
                    .values = cache(layer, true),
                    .rows = step.rows,
                    .heads = model_.heads,
                    .kv_heads = model_.kv_heads,
                    .head_dim = model_.head_dim,
                    .eps = static_cast<float>(model_.rms_eps)},
                   precision_, stream);
  attend(batch, step, layer, stream);
  multiply(blas,
           {.x = pointer(mixed_),
            .w = w.out,
            .y = pointer(hidden_),
            .rows = step.rows,
            .inputs = model_.q_size(),
            .outputs = model_.hidden,
            .float_result = true,
            .add = true},
           stream);
}

void CudaModel::attend(const Arrays& batch, const StepShape& step, size_t layer,
                       StreamHandle stream) const {
  const BatchLayout& layout = batch.layout;
  if (!flash_) {
    plain_attention({.queries = pointer(qkv_),
                     .keys = cache(layer, false),
                     .values = cache(layer, true),
                     .out = pointer(mixed_),
                     .positions = batch.at(layout.positions),
                     .sequences = batch.at(layout.sequences),
                     .block_starts = batch.at(layout.block_starts),
                     .blocks = batch.at(layout.blocks),
                     .rows = step.rows,
                     .heads = model_.heads,
                     .kv_heads = model_.kv_heads,
                     .head_dim = model_.head_dim,
                     .query_stride = model_.qkv_size()},
                    precision_, stream);
    return;
  }
  flash_attention(shape_,
                  {.queries = pointer(qkv_),
                   .keys = cache(layer, false),
                   .values = cache(layer, true),
                   .out = pointer(mixed_),
                   .row_starts = batch.at(layout.row_starts),
                   .block_starts = batch.at(layout.block_starts),
                   .blocks = batch.at(layout.blocks),
                   .last_lengths = batch.at(layout.last_lengths),
                   .rows = step.rows,
                   .sequences = step.sequences,
                   .query_stride = model_.qkv_size()},
                  step.attention, scratch(nullptr), stream);
}

void CudaModel::feed_forward(const Blas& blas, const StepShape& step, size_t layer,
                             StreamHandle stream) const {
  const DeviceLayer& w = weights_.layers()[layer];
  rms_norm({.hidden = pointer<float>(hidden_),
            .bias = w.out_bias,
            .weight = w.post_norm,
            .out = pointer(normed_),
            .rows = step.rows,
            .width = model_.hidden,
            .eps = static_cast<float>(model_.rms_eps)},
           precision_, stream);
  multiply(blas,
           {.x = pointer(normed_),
            .w = w.gate_up,
            .y = pointer(both_),
            .rows = step.rows,
            .inputs = model_.hidden,
            .outputs = 2 * model_.ffn},
           stream);
  gate({.both = pointer(both_),
        .bias = w.gate_up_bias,
        .out = pointer(gated_),
        .rows = step.rows,
        .width = model_.ffn},
       precision_, stream);
  multiply(blas,
           {.x = pointer(gated_),
            .w = w.down,
            .y = pointer(hidden_),
            .rows = step.rows,
            .inputs = model_.ffn,
            .outputs = model_.hidden,
            .float_result = true,
            .add = true},
           stream);
}

void CudaModel::head(const Blas& blas, const Arrays& batch, const StepShape& step,
                     StreamHandle stream) const {
  rms_norm({.hidden = pointer<float>(hidden_),
            .bias = weights_.layers().back().down_bias,
            .weight = weights_.final_norm(),
            .chosen = batch.at(batch.layout.sampled_rows),
            .out = pointer(chosen_),
            .rows = step.samples,
            .width = model_.hidden,
            .eps = static_cast<float>(model_.rms_eps)},
           precision_, stream);
  multiply(blas,
           {.x = pointer(chosen_),
            .w = weights_.head(),
            .y = pointer(logits_),
            .rows = step.samples,
            .inputs = model_.hidden,
            .outputs = model_.vocab,
            .float_result = true},
           stream);
  sample({.logits = pointer<float>(logits_),
          .orders = reinterpret_cast<const SampleOrder*>(batch.at(batch.layout.orders)),
          .partials = pointer(partials_),
          .out = pointer<DeviceSample>(samples_),
          .rows = step.samples,
          .vocab = model_.vocab},
         stream);
}

}  // namespace warpsmith::policy::cuda

// SPDX-License-Identifier: Apache-2.0
// The engine's own kernels, as host functions that put them on a stream. Row-major; N rows, H
// hidden, V vocabulary. "Element" is the precision's type: bf16 or float. A failed launch throws
// DeviceError.
#pragma once

#include <cstdint>

#include "policy/generate/cuda/device_types.hpp"

struct CUstream_st;

namespace warpsmith::policy::cuda {

using StreamHandle = CUstream_st*;

/// hidden (N, H) float = table (V, H) at the rows' tokens, or at samples of the batch before.
struct EmbedTask {
  const void* table = nullptr;
  const int32_t* tokens = nullptr;
  const int32_t* from_samples = nullptr;
  const DeviceSample* samples = nullptr;
  float* hidden = nullptr;
  int64_t rows = 0, width = 0, vocab = 0;
};
void embed(const EmbedTask& task, Precision precision, StreamHandle stream);

/// out (N, H) element = rms_norm(hidden + bias) * weight; hidden is replaced by hidden + bias if
/// there is a bias. With `chosen`, row i of out is made from row chosen[i] of hidden. H is a
/// multiple of 4.
struct NormTask {
  float* hidden = nullptr;       // (rows, H)
  const void* bias = nullptr;    // (H) element, or null
  const void* weight = nullptr;  // (H) element
  const int32_t* chosen = nullptr;
  void* out = nullptr;
  int64_t rows = 0, width = 0;  // rows of `out`
  float eps = 0;
};
void rms_norm(const NormTask& task, Precision precision, StreamHandle stream);

/// The widest row that `rms_norm` takes.
inline constexpr int64_t widest_row = 16'384;

/// For every row of qkv (N, (heads + 2 kv_heads) x D) element: adds the bias, normalises each
/// head's query and key if there are weights, rotates both, leaves queries in place and stores key
/// and value in the cache, whose layer is (blocks, kv_heads, 16, D).
struct RotateTask {
  void* qkv = nullptr;
  const void* bias = nullptr;  // element, or null
  const void* q_norm = nullptr;
  const void* k_norm = nullptr;    // (D) element, or null
  const float* cos_sin = nullptr;  // (positions, D): D / 2 cosines, then D / 2 sines
  const int32_t* positions = nullptr;
  const int32_t* slots = nullptr;
  void* keys = nullptr;
  void* values = nullptr;
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  float eps = 0;
};
void rotate_and_store(const RotateTask& task, Precision precision, StreamHandle stream);

/// out (N, F) element = silu(both[:, :F]) * both[:, F:], both (N, 2F) element plus bias (2F) if
/// there is one. F is a multiple of 4.
struct GateTask {
  const void* both = nullptr;
  const void* bias = nullptr;
  void* out = nullptr;
  int64_t rows = 0, width = 0;  // F
};
void gate(const GateTask& task, Precision precision, StreamHandle stream);

/// y (n, outputs) = x (n, inputs) w^T for at most `most_narrow_rows` rows, only in bf16: reads w
/// once at the memory's speed. `inputs` is a multiple of 8. Like Blas::multiply.
struct NarrowTask {
  const void* x = nullptr;
  const void* w = nullptr;  // (outputs, inputs)
  void* y = nullptr;
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool float_result = false;
  bool add = false;
};
inline constexpr int64_t most_narrow_rows = 4;
inline constexpr int64_t narrow_multiple = 8;  // of `inputs`
void narrow_product(const NarrowTask& task, StreamHandle stream);

/// Attention over pages for any head size up to 256 and any precision; slow. Used for float32 and
/// for shapes that FlashInfer does not have.
struct PlainAttentionTask {
  const void* queries = nullptr;  // rows of `query_stride` elements
  const void* keys = nullptr;     // of a layer: (blocks, kv_heads, 16, D)
  const void* values = nullptr;
  void* out = nullptr;  // (N, heads x D) element
  const int32_t* positions = nullptr;
  const int32_t* sequences = nullptr;
  const int32_t* block_starts = nullptr;
  const int32_t* blocks = nullptr;
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0, query_stride = 0;
};
void plain_attention(const PlainAttentionTask& task, Precision precision, StreamHandle stream);

/// Samples a token from each row of logits (M, V): softmax over logits x inverse_temperature, then
/// top-k, then top-p, then the token at `uniform` of the cumulative distribution in the order of
/// ids. Of equally likely tokens, top-k and top-p keep the smaller ids.
struct SampleTask {
  const float* logits = nullptr;
  const SampleOrder* orders = nullptr;
  void* partials = nullptr;  // of `sample_partial_bytes`
  DeviceSample* out = nullptr;
  int64_t rows = 0, vocab = 0;
};
int64_t sample_partial_bytes(int64_t rows, int64_t vocab);
void sample(const SampleTask& task, StreamHandle stream);

/// The type of a tensor that a learner publishes.
enum class SourceType : uint8_t { f32, bf16 };
/// Converts `count` numbers to elements; adds to `bad` how many are not finite.
struct ConvertTask {
  const void* from = nullptr;
  SourceType type = SourceType::f32;
  void* to = nullptr;
  int64_t count = 0;
  uint32_t* bad = nullptr;
};
void convert(const ConvertTask& task, Precision precision, StreamHandle stream);

}  // namespace warpsmith::policy::cuda

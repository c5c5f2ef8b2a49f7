// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/memory_limit.hpp"

#include "policy/generate/cuda/precision.hpp"

namespace warpsmith::policy {

double memory_limit(const ModelConfig& model, int64_t batch, double context, double bandwidth) {
  const int64_t element = cuda::element_bytes(cuda::Precision::bf16);
  // A step reads only a few rows of an embedding, unless that is the head too.
  const int64_t unread = model.tied_embeddings ? 0 : model.vocab * model.hidden;
  const auto weights = static_cast<double>((model.parameter_count() - unread) * element);
  const auto token = static_cast<double>(2 * model.layers * model.kv_size() * element);
  const auto sequences = static_cast<double>(batch);
  return sequences * bandwidth / (weights + sequences * context * token);
}

}  // namespace warpsmith::policy
